package schema

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/refusal"
)

// The statements of the engine run with the rights of the admin role. So whatever they may run in turn (a
// function of schema mbus4, a trigger of its tables) must belong to somebody whom the admin role trusts anyway: to
// itself, to a superuser, or to a role that was granted to it by a superuser or by one who may create roles. (Others
// may grant roles that they administer: such a membership says nothing.)

// untrustedSQL finds the first thing that belongs to somebody else.
const untrustedSQL = `
with trusted as materialized (
	select r.oid
	from pg_catalog.pg_roles r
	where r.rolsuper or r.rolname = current_user
	   or exists (select from pg_catalog.pg_auth_members m
	              join pg_catalog.pg_roles me on me.oid = m.member and me.rolname = current_user
	              join pg_catalog.pg_roles g on g.oid = m.grantor and (g.rolsuper or g.rolcreaterole)
	              where m.roleid = r.oid)
)
select x.what, pg_catalog.pg_get_userbyid(x.owner)::text
from (
	select 1 as place, 'schema ' || n.nspname as what, n.nspowner as owner
	from pg_catalog.pg_namespace n where n.nspname in ('mbus4', 'mbus4_views')
	union all
	select 2, 'relation mbus4.' || pg_catalog.quote_ident(c.relname), c.relowner
	from pg_catalog.pg_class c where c.relnamespace = pg_catalog.to_regnamespace('mbus4')
	union all
	select 3, 'function ' || p.oid::pg_catalog.regprocedure, p.proowner
	from pg_catalog.pg_proc p where p.pronamespace = pg_catalog.to_regnamespace('mbus4')
	union all
	select 4, 'operator ' || o.oid::pg_catalog.regoperator, o.oprowner
	from pg_catalog.pg_operator o where o.oprnamespace = pg_catalog.to_regnamespace('mbus4')
	union all
	select 5, 'type ' || pg_catalog.format_type(t.oid, null), t.typowner
	from pg_catalog.pg_type t where t.typnamespace = pg_catalog.to_regnamespace('mbus4')
	union all
	select 6, 'the function of trigger ' || pg_catalog.quote_ident(t.tgname) || ' on mbus4.' || pg_catalog.quote_ident(c.relname), p.proowner
	from pg_catalog.pg_trigger t
	join pg_catalog.pg_class c on c.oid = t.tgrelid and c.relnamespace = pg_catalog.to_regnamespace('mbus4')
	join pg_catalog.pg_proc p on p.oid = t.tgfoid
	where not t.tgisinternal
) x
where x.owner not in (select t.oid from trusted t)
order by x.place, x.what
limit 1`

// checkTrust refuses a schema in which anything belongs to a role that the engine's role has no reason to trust.
func checkTrust(ctx context.Context, conn *pgx.Conn, in *Installation) error {
	var what, owner string
	err := conn.QueryRow(ctx, untrustedSQL).Scan(&what, &owner)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("looking for the owners of schema mbus4: %w", err)
	}
	return &refusal.Error{
		Code: refusal.LackingRights,
		Message: fmt.Sprintf("in database %q %s belongs to role %q, which role %q does not trust",
			in.database, what, owner, in.role),
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
