package integration

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A database that was dropped and made again under its name is a new one for the proxy too: it
// gets the schema, and housekeeping.
func TestRecreatedDatabase(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q")
	for range 2 {
		admin(t, "drop database "+database+" with (force)")
		admin(t, "create database "+database)
		conn := connect(t, proxied(), database)
		awaitServed(t, conn)
		ask(t, conn, "select mbus4.post('q', 'a=>1', expires => '2001-01-01', iid => 'gone')")
		want(t, conn, "m", "select mbus4.post('q', 'a=>1', iid => 'm')")
		await(t, connect(t, direct(), database), 30*time.Second, "select array_agg(iid) = '{m}' from mbus4.message")
		want(t, conn, "m", "select iid from mbus4.consumen('q', amt => 9)")
	}
}

// awaitServed creates the queue q as soon as the proxy has noticed that the database is another
// one; until then the schema is missing (42P01), and nothing else may be wrong.
func awaitServed(t *testing.T, conn *pgconn.PgConn) {
	t.Helper()
	deadline := time.After(askLimit)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := query(testContext(t), conn, "select mbus4.create_queue('q', 1)")
		if err == nil {
			return
		}
		if sqlState(err) != "42P01" {
			t.Fatal(describe(err))
		}
		select {
		case <-deadline:
			t.Fatalf("not served: %s", describe(err))
		case <-tick.C:
		}
	}
}

// A session whose database loses the schema gets an error, not a hang, and lives on.
func TestSchemaDropped(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q")
	conn, server := connect(t, proxied(), database), connect(t, direct(), database)
	ask(t, conn, "select mbus4.post('q', 'a=>1')")
	ask(t, server, "drop schema mbus4 cascade")
	if _, err := query(testContext(t), conn, "select mbus4.post('q', 'a=>1')"); err == nil {
		t.Error("a call without the schema succeeded in a queue that is gone")
	}
	want(t, conn, "1", "select 1")
}
