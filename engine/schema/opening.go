package schema

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/refusal"
)

// couldUseSQL tells whether the role named $1, or one that it can become, could make the schema
// itself or use it once it is there.
const couldUseSQL = `
select exists (
	select from pg_catalog.pg_roles r
	where pg_catalog.pg_has_role(u.oid, r.oid, 'member')
	  and (r.rolsuper or r.oid = d.datdba or r.rolname in ('mbus4_user', 'mbus4_admin')
	       or pg_catalog.has_database_privilege(r.oid, d.oid, 'create')))
from pg_catalog.pg_roles u, pg_catalog.pg_database d
where u.rolname = $1::name and d.datname = pg_catalog.current_database()`

// MayOpen returns nil where a database may be opened for a client that has logged in as role: the
// schema is there, or the role could use it. conn is of no use for anything else afterwards.
//
// Nearly always it is there, and nothing else is asked: whoever opens the database looks at what there is.
func MayOpen(ctx context.Context, conn *pgx.Conn, role string) error {
	there := false
	if err := conn.QueryRow(ctx, `select pg_catalog.to_regclass('mbus4.schema_version') is not null`).Scan(&there); err != nil {
		return fmt.Errorf("looking for schema mbus4: %w", err)
	}
	if there {
		return nil
	}
	in, err := identify(ctx, conn)
	var refused *refusal.Error
	if errors.As(err, &refused) || in.version > 0 || in.foreign || in.unreleased {
		return nil // there is something, and whoever opens it says what is wrong with it
	}
	if err != nil {
		return err
	}
	if err := in.check(0); err != nil {
		return err
	}
	could, err := couldUse(ctx, conn, role)
	if err != nil || could {
		return err
	}
	return &refusal.Error{
		Code:    codeInvalidSchema,
		Message: fmt.Sprintf("database %q has no schema mbus4, and it is not created for a role that could not use it", in.database),
		Hint: "Have an operator create it with: mbusproxy init. It is also created by the first call of the database's owner, " +
			"of a role that has CREATE on the database, or of a member of mbus4_user.",
	}
}

// couldUse asks couldUseSQL. Names of roles are bytes of no encoding, and those of startup packets are compared as such.
func couldUse(ctx context.Context, conn *pgx.Conn, role string) (could bool, err error) {
	if _, err := conn.Exec(ctx, "set client_encoding = 'SQL_ASCII'"); err != nil {
		return false, fmt.Errorf("setting client_encoding: %w", err)
	}
	err = conn.QueryRow(ctx, couldUseSQL, role).Scan(&could)
	if errors.Is(err, pgx.ErrNoRows) || refusal.SQLState(err) == codeNotInRepertoire {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for the rights of role %q: %w", role, err)
	}
	return could, nil
}
