package security

import (
	"strings"
	"testing"
	"time"

	"mbusproxy/integration/internal/harness"
)

// The owner of a database says as which role sessions in it begin (ALTER DATABASE … SET role). Of
// the engine's sessions nobody says so: else what it makes there would be the owner's, it would
// take the owner for itself and trust his functions, and these would be one SET ROLE from being the
// superuser that the engine has logged in as.
func TestOwnerOfDatabaseChoosesNoRole(t *testing.T) {
	owner := harness.NewRole(t)
	database := harness.NewDatabase(t)
	t.Cleanup(func() { harness.Admin(t, "alter database "+database+" owner to postgres") })
	harness.Admin(t, "alter database "+database+" owner to "+owner)
	direct := harness.ConnectAs(t, harness.Direct(), database, owner)
	harness.Ask(t, direct, "create extension hstore; alter database "+database+" set role = "+owner)
	conn := harness.ConnectAs(t, harness.Proxied(), database, owner)
	// Whether a call of somebody without rights is refused, and how, is another question.
	_, _ = harness.Query(harness.Context(t), conn, "select mbus4.create_queue('q', 1)")
	if got := harness.Ask(t, direct, "select coalesce(max(nspowner::regrole::text), 'nobody') from pg_namespace where nspname = 'mbus4'"); got == owner {
		t.Errorf("schema mbus4 belongs to the owner of the database, and not to the admin role")
	}
	// Were it so, this would do it.
	for _, sql := range []string{
		`create function public.evil() returns trigger language plpgsql as 'begin execute ''set role none''; execute ''alter role ` + owner + ` superuser''; return new; end'`,
		"create trigger evil before insert on mbus4.message for each row execute function public.evil()",
	} {
		if _, err := harness.Query(harness.Context(t), direct, sql); err != nil && !strings.Contains(err.Error(), "permission denied") {
			t.Logf("%s: %v", sql, err)
		}
	}
	if _, err := harness.Query(harness.Context(t), conn, "select mbus4.schedule('s', '* * * * * *', 'q')"); err == nil {
		deadline := time.Now().Add(5 * time.Second)
		for time.Now().Before(deadline) && harness.Ask(t, direct, "select count(*) + count(last_error) from mbus4.schedules where last_at is not null or last_error is not null") == "0" {
			harness.Ask(t, direct, "select pg_sleep(0.1)")
		}
	}
	if harness.Ask(t, direct, "select rolsuper from pg_roles where rolname = $1", owner) == "t" {
		t.Error("the owner of a database has become a superuser")
	}
}
