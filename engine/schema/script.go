package schema

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// SQL is what Prepare would run in the database conn is connected to, as a script for psql; "" where nothing is
// missing. Selectors that are to be compiled again are not in it. It changes nothing.
func SQL(ctx context.Context, conn *pgx.Conn) (string, error) {
	steps, err := allSteps()
	if err != nil {
		return "", err
	}
	newest := steps[len(steps)-1].version
	in, err := inspect(ctx, conn)
	if err != nil {
		return "", err
	}
	in.newest = newest
	if err := in.check(newest); err != nil {
		return "", err
	}
	if in.complete(newest) {
		return "", nil
	}
	var b strings.Builder
	part := func(title string, statements ...string) {
		fmt.Fprintf(&b, "-- %s\n\n%s\n\n", title, strings.Join(statements, "\n"))
	}
	part("names are looked up in pg_catalog", "set search_path = pg_catalog, pg_temp;")
	if in.version == 0 {
		create := []string{"create table mbus4.upgrade_lock ();"}
		if !in.schema {
			create = append([]string{"create schema mbus4;"}, create...)
		}
		if in.hstoreSchema == "" {
			create = append(create, createHstoreSQL+";")
			in.hstoreSchema = "public"
		}
		create = append(create, "drop schema if exists mbus4_hstore cascade;", "create schema mbus4_hstore;")
		part("the schema", create...)
	}
	for _, s := range steps {
		if s.version <= in.version {
			continue
		}
		if in.version == 0 {
			s = s.inNewSchema()
		}
		text, err := expand(s.name, s.text, in.hstoreSchema)
		if err != nil {
			return "", err
		}
		note := fmt.Sprintf("insert into mbus4.schema_version (version, oldest, program) values (%d, %d, '%s');", s.version, s.oldest, program())
		if s.index != "" {
			part("step "+s.name, text, note)
			continue
		}
		part("step "+s.name, "begin;", lockUpgradeSQL+";", fmt.Sprintf("set local lock_timeout = %d;", stepLockWait.Milliseconds()), text, checkSQL, note, "commit;")
	}
	for _, d := range in.missingFunctions() {
		part("function "+d.Name, d.Create+";")
	}
	rights, err := rightsSQL(ctx, conn, in.version == 0)
	if err != nil {
		return "", err
	}
	part("rights", rights...)
	part("nothing belongs to somebody else", checkSQL)
	return strings.TrimSpace(b.String()), nil
}

// rightsSQL is what grantRights runs, but for revoking what default privileges will have given on
// what is not there yet.
func rightsSQL(ctx context.Context, conn *pgx.Conn, fresh bool) ([]string, error) {
	var out []string
	if !fresh {
		list, err := excess(ctx, conn, false)
		if err != nil {
			return nil, err
		}
		for _, revoke := range list {
			out = append(out, revoke+";")
		}
	}
	for _, role := range []string{roleUser, roleAdmin} {
		var exists bool
		if err := conn.QueryRow(ctx, roleExistsSQL, role).Scan(&exists); err != nil {
			return nil, err
		}
		if !exists {
			out = append(out, createRoleSQL(role)+";")
		}
	}
	out = append(out, grantMemberSQL+";")
	for _, file := range rightsFileNames {
		text, err := rightsText(file)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}
