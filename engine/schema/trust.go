package schema

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/refusal"
	"mbusproxy/trust"
)

// The statements of the engine run with the rights of the admin role. So whatever they may run in turn (a
// function of schema mbus4, a trigger of its tables) must belong to somebody whom the admin role trusts anyway: to
// itself, to a superuser, or to a role that was granted to it by somebody who could act as it anyway. (Others may grant
// roles that they administer, a superuser's too: such a membership says nothing.)

// The same holds for what they depend on in other schemas, above all the functions of hstore: schemas can be renamed, but
// bodies that are parsed, operators and columns keep the OIDs of what they stand for (baseline/00_hstore.sql). So what they
// stand for is looked at each time, and before the engine uses what it has just made.

// Package trust has the question.

// checkSQL fails, in a transaction that makes what it looks at, where the question finds something. It stands in steps as
// {{.Check}}, before anything of what they have made is used.
var checkSQL = `select pg_catalog.format('` + untrustedMark + `%s` + untrustedOwner + `%s', u.what, u.whose)::pg_catalog.int4 from (` +
	trust.ForEngine() + `) u (role, database, reads, absent, what, whose, mend) where u.what <> '';`

// untrustedMark begins the text that checkSQL fails with, and untrustedOwner stands in it before the owner.
const (
	untrustedMark  = "mbus4-untrusted: "
	untrustedOwner = " belongs to role "
)

// checkTrust refuses a schema in which anything belongs to a role that the engine's role has no reason to trust, or depends on
// such a thing. It reports whether the schema is there: only then may its name be used, for a schema of somebody who is
// trusted nobody else can drop or rename, while one that is not there anybody may make the next moment.
func checkTrust(ctx context.Context, conn *pgx.Conn, in *Installation) (there bool, err error) {
	answer, err := trust.Scan(conn.QueryRow(ctx, trust.ForEngine()))
	if err != nil {
		return false, err
	}
	if answer.What == "" {
		return !answer.Absent, nil
	}
	return !answer.Absent, distrust(in, answer.What, answer.Whose)
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
