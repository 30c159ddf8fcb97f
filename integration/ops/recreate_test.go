package ops

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// A database that was dropped and made again under its name is a new one for the proxy too: it
// gets the schema, and housekeeping.
func TestRecreatedDatabase(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	for range 2 {
		harness.Admin(t, "drop database "+database+" with (force)")
		harness.Admin(t, "create database "+database)
		conn := harness.Connect(t, harness.Proxied(), database)
		awaitServed(t, conn)
		harness.Ask(t, conn, "select mbus4.post('q', 'a=>1', expires => '2001-01-01', iid => 'gone')")
		harness.Want(t, conn, "m", "select mbus4.post('q', 'a=>1', iid => 'm')")
		harness.Await(t, harness.Connect(t, harness.Direct(), database), 30*time.Second, "select array_agg(iid) = '{m}' from mbus4.message")
		harness.Want(t, conn, "m", "select iid from mbus4.consumen('q', amt => 9)")
	}
}

// awaitServed creates the queue q as soon as the proxy has noticed that the database is another
// one; until then the schema is missing (42P01), and nothing else may be wrong.
func awaitServed(t *testing.T, conn *pgconn.PgConn) {
	t.Helper()
	deadline := time.After(harness.AskLimit)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := harness.Query(harness.Context(t), conn, "select mbus4.create_queue('q', 1)")
		if err == nil {
			return
		}
		if harness.SQLState(err) != "42P01" {
			t.Fatal(harness.Describe(err))
		}
		select {
		case <-deadline:
			t.Fatalf("not served: %s", harness.Describe(err))
		case <-tick.C:
		}
	}
}

// A session whose database loses the schema gets an error, not a hang, and lives on.
func TestSchemaDropped(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn, server := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, conn, "select mbus4.post('q', 'a=>1')")
	harness.Ask(t, server, "drop schema mbus4 cascade")
	if _, err := harness.Query(harness.Context(t), conn, "select mbus4.post('q', 'a=>1')"); err == nil {
		t.Error("a call without the schema succeeded in a queue that is gone")
	}
	harness.Want(t, conn, "1", "select 1")
}
