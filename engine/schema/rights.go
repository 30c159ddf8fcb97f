package schema

import (
	"context"
	"embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/refusal"
)

//go:embed rights/*.sql
var rightsFiles embed.FS

var rightsFileNames = []string{"rights/user.sql", "rights/admin.sql", "rights/views.sql"}

const (
	roleUser  = "mbus4_user"
	roleAdmin = "mbus4_admin"
)

// usable reports whether the engine's role may do what the services do.
func usable(ctx context.Context, conn *pgx.Conn) (ok bool, err error) {
	err = conn.QueryRow(ctx, `
		select pg_catalog.has_table_privilege('mbus4.message', 'select')
		   and pg_catalog.has_table_privilege('mbus4.message', 'delete')
		   and pg_catalog.has_any_column_privilege('mbus4.message', 'update')
		   and pg_catalog.has_table_privilege('mbus4.consumer', 'select')
		   and pg_catalog.has_table_privilege('mbus4.queue', 'select')
		   and pg_catalog.has_any_column_privilege('mbus4.semaphore_task', 'update')
		   and pg_catalog.has_table_privilege('mbus4.semaphore_change', 'delete')
		   and pg_catalog.has_table_privilege('mbus4.view_insert', 'delete')
		   and pg_catalog.has_table_privilege('mbus4.service', 'update')
		   and pg_catalog.has_table_privilege('mbus4.selector', 'insert')
		   and pg_catalog.has_any_column_privilege('mbus4.schedule', 'update')
		   and pg_catalog.has_sequence_privilege('mbus4.message_id', 'select')
		   and pg_catalog.has_sequence_privilege('mbus4.hint_0', 'update')
		   and pg_catalog.has_sequence_privilege('mbus4.hint_0', 'select')
		   and pg_catalog.has_table_privilege('mbus4.work_queue', 'select')
		   and pg_catalog.has_sequence_privilege('mbus4.hint_work', 'update')`).Scan(&ok)
	if err != nil {
		return false, fmt.Errorf("checking the rights on schema mbus4: %w", err)
	}
	return ok, nil
}

// granted reports whether both roles exist with their rights, and nobody has rights that are
// dangerous. Of each file of grants it looks at a few, for a file is run in one transaction.
func granted(ctx context.Context, conn *pgx.Conn) (ok bool, err error) {
	err = conn.QueryRow(ctx, `
		select count(*) = 2
		from pg_catalog.pg_roles
		where rolname = 'mbus4_user'
		      and pg_catalog.has_schema_privilege(oid, 'mbus4', 'usage')
		      and pg_catalog.has_sequence_privilege(oid, 'mbus4.hint_0', 'select')
		      and pg_catalog.has_table_privilege(oid, 'mbus4.work_queue', 'select')
		      and pg_catalog.has_table_privilege(oid, 'mbus4.semaphore', 'select')
		      and pg_catalog.has_table_privilege(oid, 'mbus4.selector', 'select')
		   or rolname = 'mbus4_admin'
		      and pg_catalog.has_table_privilege(oid, 'mbus4.consumer', 'insert')
		      and coalesce(pg_catalog.has_schema_privilege(oid, pg_catalog.to_regnamespace('mbus4_views')::oid, 'create'), false)
		      and pg_catalog.pg_has_role(oid, (select oid from pg_catalog.pg_roles where rolname = 'mbus4_user'), 'member')`).
		Scan(&ok)
	if err != nil {
		return false, fmt.Errorf("checking the rights of %s: %w", roleUser, err)
	}
	if !ok {
		return false, nil
	}
	list, err := excess(ctx, conn, false)
	return len(list) == 0, err
}

// grantRights takes away what others must not have (in a schema just made: all that they have),
// creates the two roles where the engine's role may, and gives them their rights. Roles belong to
// the whole cluster, and the proxy of another database may be creating them at the same moment.
// What fails is not vital and comes back as warnings.
func grantRights(ctx context.Context, conn *pgx.Conn, fresh bool) (warnings []string) {
	warnings = revokeExcess(ctx, conn, fresh)
	for _, role := range []string{roleUser, roleAdmin} {
		if err := createRole(ctx, conn, role); err != nil {
			return append(warnings, fmt.Sprintf("role %s not created: %v", role, err))
		}
	}
	if err := addMember(ctx, conn); err != nil {
		warnings = append(warnings, fmt.Sprintf("role %s not granted to %s: %v", roleUser, roleAdmin, err))
	}
	for _, file := range rightsFileNames {
		if err := runRights(ctx, conn, file); err != nil {
			warnings = append(warnings, fmt.Sprintf("rights of %s not granted: %v", file, err))
		}
	}
	return warnings
}

const (
	roleExistsSQL  = `select exists (select from pg_catalog.pg_roles where rolname = $1)`
	grantMemberSQL = `grant mbus4_user to mbus4_admin`
)

func createRoleSQL(role string) string {
	return `create role ` + pgx.Identifier{role}.Sanitize() + ` nologin`
}

func createRole(ctx context.Context, conn *pgx.Conn, role string) error {
	var exists bool
	err := conn.QueryRow(ctx, roleExistsSQL, role).Scan(&exists)
	if err != nil || exists {
		return err
	}
	_, err = conn.Exec(ctx, createRoleSQL(role))
	switch refusal.SQLState(err) {
	case refusal.DuplicateObject, codeUniqueViolation: // another proxy has just created it
		return nil
	}
	return err
}

// addMember makes mbus4_admin a member of mbus4_user.
func addMember(ctx context.Context, conn *pgx.Conn) error {
	const isMember = `select pg_catalog.pg_has_role('mbus4_admin', 'mbus4_user', 'member')`
	var member bool
	if err := conn.QueryRow(ctx, isMember).Scan(&member); err != nil || member {
		return err
	}
	_, grantErr := conn.Exec(ctx, grantMemberSQL)
	if grantErr == nil {
		return nil
	}
	// Two grants at once collide in the catalogue; all that matters is that one came through.
	if err := conn.QueryRow(ctx, isMember).Scan(&member); err == nil && member {
		return nil
	}
	return grantErr
}

// rightsText is the file, filled in.
func rightsText(file string) (string, error) {
	text, err := rightsFiles.ReadFile(file)
	if err != nil {
		return "", err
	}
	return expand(file, string(text), "")
}

func runRights(ctx context.Context, conn *pgx.Conn, file string) error {
	sql, err := rightsText(file)
	if err != nil {
		return err
	}
	return inTurn(ctx, conn, func(tx pgx.Tx) error {
		_, err := tx.Conn().PgConn().Exec(ctx, sql).ReadAll() // several statements: only the simple protocol takes them
		return err
	})
}
