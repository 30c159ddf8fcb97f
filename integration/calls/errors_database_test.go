package calls

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// Databases that cannot be served: each call says why, and what to do.
func TestErrorsOfDatabases(t *testing.T) {
	t.Parallel()
	told := harness.NewProxy(t, "--no-init").Endpoint
	const call = "select mbus4.create_queue('r', 1)"
	wants := func(report *pgconn.PgError, message, hint string) {
		t.Helper()
		if !strings.Contains(report.Message, message) || !strings.Contains(report.Hint, hint) {
			t.Errorf("%s: %s; want hint %s", message, harness.Describe(report), hint)
		}
	}
	empty := harness.NewDatabase(t)
	wants(harness.Refusal(t, harness.Connect(t, told, empty), "3F000", call), `database "`+empty+`" has no schema mbus4`, "mbusproxy init")

	direct := harness.Connect(t, harness.Direct(), empty)
	harness.Ask(t, direct, "begin; create schema mbus4")
	client := harness.Connect(t, harness.Proxied(), empty)
	wants(harness.Refusal(t, client, "55P03", call), "is being created in database \""+empty+"\" by a transaction that is still open", "pg_stat_activity")
	harness.Ask(t, direct, "rollback")

	foreign := harness.NewDatabase(t)
	harness.Ask(t, harness.Connect(t, harness.Direct(), foreign), "create schema mbus4; create table mbus4.theirs (a int)")
	wants(harness.Refusal(t, harness.Connect(t, harness.Proxied(), foreign), "55000", call), "was not made by mbusproxy", "Another message bus")

	damaged := harness.NewQueueDatabase(t, "q")
	harness.Ask(t, harness.Connect(t, harness.Direct(), damaged), "drop extension hstore cascade")
	wants(harness.Refusal(t, harness.Connect(t, told, damaged), "42704", call), "extension hstore is missing", "restore the database")

	old := harness.NewQueueDatabase(t, "q")
	harness.Ask(t, harness.Connect(t, harness.Proxied(), old), "select mbus4.create_consumer('q', 'c', 'id > 1')")
	harness.Ask(t, harness.Connect(t, harness.Direct(), old), "update mbus4.selector set version = 0")
	wants(harness.Refusal(t, harness.Connect(t, told, old), "55000", call), "compiled by an older program", "mbusproxy init")

	// A program that compiles them again finds one that it does not allow.
	harness.Ask(t, harness.Connect(t, harness.Direct(), old), "update mbus4.selector set text = 'now() > added'; update mbus4.consumer set selector = 'now() > added' where selector is not null")
	wants(harness.Refusal(t, harness.Connect(t, harness.NewProxy(t).Endpoint, old), "55000", call), "has selectors that are no longer allowed: queue q, consumer c: ", "--disable-bad-selectors")
}

// A selector in an alphabet whose bytes are not known to be what the server reads.
func TestErrorsOfSelectorsInEncodings(t *testing.T) {
	t.Parallel()
	conn := harness.Connect(t, harness.Proxied(), harness.NewQueueDatabase(t, "q"))
	harness.Ask(t, conn, "set client_encoding = LATIN1")
	report := harness.Refusal(t, conn, "22021", "select mbus4.create_consumer('q', 'c', 'iid = ''\xe9''')")
	if !strings.Contains(report.Message, "it holds characters other than ASCII") || !strings.Contains(report.Hint, "client_encoding") {
		t.Error(harness.Describe(report))
	}
}

// A selector is removed between when it was checked and when the statement comes to the call.
func TestErrorsOfSelectorsRemoved(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "prepare late as select mbus4.create_consumer('q', 'c', 'id > 1')")
	harness.Ask(t, harness.Connect(t, harness.Direct(), database), "delete from mbus4.selector")
	report := harness.Refusal(t, conn, "0A000", "execute late")
	if !strings.Contains(report.Message, "the selector id > 1 was not checked") || !strings.Contains(report.Hint, "Prepare the statement again") {
		t.Error(harness.Describe(report))
	}
}
