package security

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

const installedSQL = "select (select count(*) from pg_namespace where nspname ~ '^mbus4') + (select count(*) from pg_extension where extname = 'hstore')"

// Whoever may only connect has nothing installed, however often he calls; what he is told names the
// way out. Once he has the right that it takes, or the schema is there, he is served.
func TestStrangerInstallsNothing(t *testing.T) {
	t.Parallel()
	stranger := harness.NewRole(t)
	database := harness.NewDatabase(t)
	direct := harness.Connect(t, harness.Direct(), database)
	conn := harness.ConnectAs(t, harness.Proxied(), database, stranger)
	for _, sql := range []string{
		"select mbus4.regenerate_functions()",
		"select mbus4.create_queue('q', 1)",
	} {
		if refused := harness.Refusal(t, conn, "3F000", sql); refused.Hint == "" {
			t.Errorf("%s: no hint", sql)
		}
		harness.Want(t, direct, "0", installedSQL)
	}
	harness.Refused(t, conn, "42P01", "select * from mbus4.work_queue")
	harness.Want(t, direct, "0", installedSQL)
	harness.Ask(t, conn, "select 'mbus4.regenerate_functions()'")
	if out, err := harness.Init(t, database); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	eventually(t, conn, "select mbus4.regenerate_functions()")
	harness.Refused(t, conn, "42501", "select mbus4.create_queue('q', 1)")
}

// eventually runs a statement until it is no longer refused, which it may be for a second.
func eventually(t *testing.T, conn *pgconn.PgConn, sql string) {
	t.Helper()
	harness.Eventually(t, func() string {
		if _, err := harness.Query(harness.Context(t), conn, sql); err != nil {
			return fmt.Sprintf("%s: %v", sql, err)
		}
		return ""
	})
}

// Who could use the schema has it installed by his first call: who may create in the database, and
// who may post in all databases. It matters who has logged in, not as whom he acts.
func TestWhoInstalls(t *testing.T) {
	t.Parallel()
	for name, give := range map[string]func(role, group, database string) (sql []string){
		"superuser": func(role, _, _ string) []string { return []string{"alter role " + role + " superuser"} },
		"owner": func(role, _, database string) []string {
			return []string{"alter database " + database + " owner to " + role}
		},
		"creator": func(role, _, database string) []string {
			return []string{"grant create on database " + database + " to " + role}
		},
		"user":  func(role, _, _ string) []string { return []string{"grant mbus4_user to " + role} },
		"admin": func(role, _, _ string) []string { return []string{"grant mbus4_admin to " + role} },
		"member of a creator, without its rights until SET ROLE": func(role, group, database string) []string {
			return []string{"alter role " + role + " noinherit", "grant create on database " + database + " to " + group, "grant " + group + " to " + role}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			role, group := harness.NewRole(t), harness.NewRole(t) // they go after the database
			database := harness.NewDatabase(t)
			conn := harness.ConnectAs(t, harness.Proxied(), database, role)
			harness.Refused(t, conn, "3F000", "select mbus4.regenerate_functions()")
			for _, sql := range give(role, group, database) {
				harness.Admin(t, sql)
			}
			eventually(t, conn, "select mbus4.regenerate_functions()")
			harness.Want(t, harness.Connect(t, harness.Direct(), database), "4", installedSQL)
			harness.Admin(t, "alter database "+database+" owner to postgres")
		})
	}
	t.Run("superuser who acts as another", func(t *testing.T) {
		t.Parallel()
		role := harness.NewRole(t)
		database := harness.NewDatabase(t)
		conn := harness.Connect(t, harness.Proxied(), database)
		harness.Ask(t, conn, "set session authorization "+role)
		harness.Ask(t, conn, "select mbus4.regenerate_functions()")
	})
}

// Nobody has anything installed in a template: each database made from it would have it as well.
func TestNothingInTemplates(t *testing.T) {
	t.Parallel()
	owner := harness.NewRole(t)
	database := harness.NewDatabase(t)
	harness.Admin(t, "alter database "+database+" owner to "+owner)
	harness.Admin(t, "alter database "+database+" is_template true")
	t.Cleanup(func() {
		harness.Admin(t, "alter database "+database+" is_template false")
		harness.Admin(t, "alter database "+database+" owner to postgres")
	})
	direct := harness.Connect(t, harness.Direct(), database)
	for _, role := range []string{"postgres", owner} {
		conn := harness.ConnectAs(t, harness.Proxied(), database, role)
		for range 2 {
			if refused := harness.Refusal(t, conn, "55000", "select mbus4.create_queue('q', 1)"); refused.Hint == "" {
				t.Errorf("%s: no hint", role)
			}
		}
	}
	if out, err := harness.Init(t, database); err == nil {
		t.Errorf("mbusproxy init: %s", out)
	}
	harness.Want(t, direct, "0", installedSQL)
}
