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

// Compiling every statement of the installation would take longer than it may take as a whole.
func TestOwnerOfDatabaseHasNothingCompiled(t *testing.T) {
	database := harness.NewDatabase(t)
	for _, setting := range []string{"jit_above_cost", "jit_inline_above_cost", "jit_optimize_above_cost"} {
		harness.Admin(t, "alter database "+database+" set "+setting+" = 0")
	}
	conn := harness.ConnectAs(t, harness.Proxied(), database, "postgres", "jit=off")
	harness.Ask(t, conn, "select mbus4.create_queue('q', 1)")
	harness.Want(t, conn, "1", "select count(mbus4.post('q', 'a=>1'))")
}

// What the owner of a database sets for all sessions in it (ALTER DATABASE … SET) does not stop the engine there. Clients it may stop:
// this one has settings of its own.
func TestOwnerOfDatabaseSetsNothingForTheEngine(t *testing.T) {
	database := harness.NewQueueDatabase(t, "q")
	owner, client := harness.NewRole(t), harness.NewRole(t)
	watcher := harness.Connect(t, harness.Direct(), database) // what is set counts for later sessions
	harness.Ask(t, watcher, "grant mbus4_user to "+client)
	t.Cleanup(func() { harness.Admin(t, "alter database "+database+" owner to postgres") })
	harness.Admin(t, "alter database "+database+" owner to "+owner)
	hostile := harness.ConnectAs(t, harness.Direct(), database, owner)
	for _, setting := range []string{
		"statement_timeout = 1", "idle_session_timeout = 1", "idle_in_transaction_session_timeout = 1",
		"default_transaction_read_only = on", "local_preload_libraries = 'x'",
	} {
		harness.Ask(t, hostile, "alter database "+database+" set "+setting)
	}
	clients := []string{"statement_timeout=0", "idle_session_timeout=0", "idle_in_transaction_session_timeout=0", "default_transaction_read_only=off", "local_preload_libraries=''"}
	if harness.Ask(t, watcher, "select current_setting('server_version_num')::int >= 170000") == "t" {
		// Not so short that a transaction of one SET may fail.
		harness.Ask(t, hostile, "alter database "+database+" set transaction_timeout = 10")
		clients = append(clients, "transaction_timeout=0")
	}
	harness.Want(t, watcher, "t", `select bool_and(pg_terminate_backend(pid, 20000)) from pg_stat_activity
		where datname = current_database() and application_name like 'mbusproxy%'`) // the engine connects anew
	conn := harness.ConnectAs(t, harness.Proxied(), database, client, clients...)
	harness.Want(t, conn, "1", "select count(mbus4.post('q', 'a=>1', expires => now()::timestamp + interval '1 microsecond'))")
	harness.Await(t, watcher, "select count(*) = 0 from mbus4.message") // it is swept
}
