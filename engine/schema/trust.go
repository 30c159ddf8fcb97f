package schema

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/refusal"
)

// The statements of the engine run with the rights of the admin role. So whatever they may run in turn (a
// function of schema mbus4, a trigger of its tables) must belong to somebody whom the admin role trusts anyway: to
// itself, to a superuser, or to a role that was granted to it by a superuser or by one who may create roles. (Others
// may grant roles that they administer: such a membership says nothing.)

// The same holds for what they depend on in other schemas, above all the functions of hstore: schemas can be renamed, but
// bodies that are parsed, operators and columns keep the OIDs of what they stand for (baseline/00_hstore.sql). So what they
// stand for is looked at each time, and before the engine uses what it has just made.

// untrustedSQL finds the first thing that belongs to somebody else, as one row: whether there is a schema mbus4 at all, what
// the thing is, and whose; nulls where there is none.
const untrustedSQL = `
with trusted as materialized (
	select r.oid
	from pg_catalog.pg_roles r
	where r.rolsuper or r.rolname = current_user
	   or exists (select from pg_catalog.pg_auth_members m
	              join pg_catalog.pg_roles me on me.oid = m.member and me.rolname = current_user
	              join pg_catalog.pg_roles g on g.oid = m.grantor and (g.rolsuper or g.rolcreaterole)
	              where m.roleid = r.oid)
), home as materialized (
	select n.oid from pg_catalog.pg_namespace n where n.nspname in ('mbus4', 'mbus4_hstore')
), thing (place, kind, oid, what, owner) as materialized (
	select 2, 'pg_catalog.pg_class'::pg_catalog.regclass, c.oid, 'relation ' || c.oid::pg_catalog.regclass, c.relowner
	from pg_catalog.pg_class c where c.relnamespace in (select oid from home)
	union all
	select 3, 'pg_catalog.pg_proc'::pg_catalog.regclass, p.oid, 'function ' || p.oid::pg_catalog.regprocedure, p.proowner
	from pg_catalog.pg_proc p where p.pronamespace in (select oid from home)
	union all
	select 4, 'pg_catalog.pg_operator'::pg_catalog.regclass, o.oid, 'operator ' || o.oid::pg_catalog.regoperator, o.oprowner
	from pg_catalog.pg_operator o where o.oprnamespace in (select oid from home)
	union all
	select 5, 'pg_catalog.pg_type'::pg_catalog.regclass, t.oid, 'type ' || pg_catalog.format_type(t.oid, null), t.typowner
	from pg_catalog.pg_type t where t.typnamespace in (select oid from home)
), part (kind, oid) as (
	select t.kind, t.oid from thing t
	union all
	select 'pg_catalog.pg_trigger'::pg_catalog.regclass, g.oid
	from pg_catalog.pg_trigger g join thing t on t.place = 2 and t.oid = g.tgrelid
	union all
	select 'pg_catalog.pg_rewrite'::pg_catalog.regclass, r.oid
	from pg_catalog.pg_rewrite r join thing t on t.place = 2 and t.oid = r.ev_class
	union all
	select 'pg_catalog.pg_attrdef'::pg_catalog.regclass, a.oid
	from pg_catalog.pg_attrdef a join thing t on t.place = 2 and t.oid = a.adrelid
	union all
	select 'pg_catalog.pg_policy'::pg_catalog.regclass, l.oid
	from pg_catalog.pg_policy l join thing t on t.place = 2 and t.oid = l.polrelid
	union all
	select 'pg_catalog.pg_constraint'::pg_catalog.regclass, k.oid
	from pg_catalog.pg_constraint k join thing t on t.place = 2 and t.oid = k.conrelid or t.place = 5 and t.oid = k.contypid
), used as materialized ( -- by what is ours
	select distinct d.refclassid as kind, d.refobjid as oid
	from part p
	join pg_catalog.pg_depend d on d.classid = p.kind and d.objid = p.oid
	where not exists (select from thing t where t.kind = d.refclassid and t.oid = d.refobjid)
)
select exists (select from pg_catalog.pg_namespace n where n.nspname = 'mbus4'), y.what, y.owner
from (select) one
left join (
	select x.what, pg_catalog.pg_get_userbyid(x.owner)::text as owner
	from (
		select 1 as place, 'schema ' || n.nspname as what, n.nspowner as owner
		from pg_catalog.pg_namespace n where n.nspname in ('mbus4', 'mbus4_views', 'mbus4_hstore')
		union all
		select t.place, t.what, t.owner from thing t
		union all
		select 6, 'function ' || p.oid::pg_catalog.regprocedure || ', which schema mbus4 uses,', p.proowner
		from used u join pg_catalog.pg_proc p on p.oid = u.oid where u.kind = 'pg_catalog.pg_proc'::pg_catalog.regclass
		union all
		select 7, 'type ' || pg_catalog.format_type(t.oid, null) || ', which schema mbus4 uses,', t.typowner
		from used u join pg_catalog.pg_type t on t.oid = u.oid where u.kind = 'pg_catalog.pg_type'::pg_catalog.regclass
		union all
		select 8, 'operator ' || o.oid::pg_catalog.regoperator || ', which schema mbus4 uses,', o.oprowner
		from used u join pg_catalog.pg_operator o on o.oid = u.oid where u.kind = 'pg_catalog.pg_operator'::pg_catalog.regclass
		union all
		select 9, 'relation ' || c.oid::pg_catalog.regclass || ', which schema mbus4 uses,', c.relowner
		from used u join pg_catalog.pg_class c on c.oid = u.oid where u.kind = 'pg_catalog.pg_class'::pg_catalog.regclass
		union all
		select 10, 'collation ' || c.oid::pg_catalog.regcollation || ', which schema mbus4 uses,', c.collowner
		from used u join pg_catalog.pg_collation c on c.oid = u.oid where u.kind = 'pg_catalog.pg_collation'::pg_catalog.regclass
		union all
		select 11, 'operator class ' || pg_catalog.quote_ident(c.opcname) || ', which schema mbus4 uses,', c.opcowner
		from used u join pg_catalog.pg_opclass c on c.oid = u.oid where u.kind = 'pg_catalog.pg_opclass'::pg_catalog.regclass
	) x
	where x.owner not in (select t.oid from trusted t)
	order by x.place, x.what
	limit 1
) y on true`

// checkSQL fails, in a transaction that makes what it looks at, where untrustedSQL finds something. It stands in steps as
// {{.Check}}, before anything of what they have made is used.
const checkSQL = `select pg_catalog.format('` + untrustedMark + `%s` + untrustedOwner + `%s', u.what, u.owner)::pg_catalog.int4 from (` + untrustedSQL + `) u (there, what, owner) where u.what is not null;`

// untrustedMark begins the text that checkSQL fails with, and untrustedOwner stands in it before the owner.
const (
	untrustedMark  = "mbus4-untrusted: "
	untrustedOwner = " belongs to role "
)

// checkTrust refuses a schema in which anything belongs to a role that the engine's role has no reason to trust, or depends on
// such a thing. It reports whether the schema is there: only then may its name be used, for a schema of somebody who is
// trusted nobody else can drop or rename, while one that is not there anybody may make the next moment.
func checkTrust(ctx context.Context, conn *pgx.Conn, in *Installation) (there bool, err error) {
	var what, owner *string
	if err := conn.QueryRow(ctx, untrustedSQL).Scan(&there, &what, &owner); err != nil {
		return false, fmt.Errorf("looking for the owners of schema mbus4: %w", err)
	}
	if what == nil {
		return there, nil
	}
	return there, distrust(in, *what, *owner)
}

// distrust is the refusal where something belongs to somebody whom the engine's role has no reason to trust.
func distrust(in *Installation, what, owner string) *refusal.Error {
	return &refusal.Error{
		Code:    refusal.LackingRights,
		Message: fmt.Sprintf("in database %q %s belongs to role %q, which role %q does not trust", in.database, what, owner, in.role),
		Hint: fmt.Sprintf("If that is as it should be, let --admin name role %[1]s, or as a superuser GRANT %[1]s TO %[2]s; if not, drop it.",
			pgx.Identifier{owner}.Sanitize(), pgx.Identifier{in.role}.Sanitize()),
	}
}

// excessSQL lists statements that revoke what clients must not have, however they came by it: default privileges
// of the admin role give rights on whatever it makes. With $1, for a schema that was just made, that is everything;
// else what could make the engine run somebody's code or hold up its services.
const excessSQL = `
select pg_catalog.format('revoke %s on %s from %s cascade', x.privilege_type, x.what,
                         case when x.grantee = 0 then 'public' else pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(x.grantee)) end)
from (
	select a.privilege_type, 'schema mbus4' as what, a.grantee
	from pg_catalog.pg_namespace n
	cross join lateral pg_catalog.aclexplode(n.nspacl) a
	where n.nspname = 'mbus4' and a.grantee <> n.nspowner and (a.privilege_type = 'CREATE' or $1)
	union all
	select a.privilege_type,
	       case when c.relkind = 'S' then 'sequence mbus4.' else 'table mbus4.' end || pg_catalog.quote_ident(c.relname), a.grantee
	from pg_catalog.pg_class c
	cross join lateral pg_catalog.aclexplode(c.relacl) a
	where c.relnamespace = pg_catalog.to_regnamespace('mbus4') and c.relkind in ('r', 'v', 'p', 'S') and a.grantee <> c.relowner
	  and ($1 or a.privilege_type in ('TRIGGER', 'REFERENCES', 'TRUNCATE', 'MAINTAIN')
	       or a.privilege_type <> 'SELECT'
	          and (c.relname in ('service', 'schema_version', 'selector', 'selector_slot', 'upgrade_lock') or c.relkind = 'S' and pg_catalog.starts_with(c.relname::text, 'hint_')))
) x
order by 1`

// excess lists the statements that revoke what clients must not have.
func excess(ctx context.Context, conn *pgx.Conn, fresh bool) ([]string, error) {
	rows, err := conn.Query(ctx, excessSQL, fresh)
	if err != nil {
		return nil, fmt.Errorf("looking for rights on schema mbus4: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("looking for rights on schema mbus4: %w", err)
	}
	return list, nil
}

// revokeExcess takes away what clients must not have.
func revokeExcess(ctx context.Context, conn *pgx.Conn, fresh bool) (warnings []string) {
	err := inTurn(ctx, conn, func(tx pgx.Tx) error {
		list, err := excess(ctx, tx.Conn(), fresh)
		if err != nil {
			return err
		}
		for _, revoke := range list {
			if _, err := tx.Exec(ctx, revoke); err != nil {
				return fmt.Errorf("%s: %w", revoke, err)
			}
		}
		return nil
	})
	if err != nil {
		return []string{fmt.Sprintf("rights of others on schema mbus4 not revoked: %v", err)}
	}
	return nil
}
