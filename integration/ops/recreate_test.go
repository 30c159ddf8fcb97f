package ops

import (
	"testing"

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
		harness.Ask(t, conn, "select mbus4.create_queue('q', 1)")
		harness.Ask(t, conn, "select mbus4.post('q', 'a=>1', expires => '2001-01-01', iid => 'gone')")
		harness.Want(t, conn, "m", "select mbus4.post('q', 'a=>1', iid => 'm')")
		harness.Await(t, harness.Connect(t, harness.Direct(), database), "select array_agg(iid) = '{m}' from mbus4.message")
		harness.Want(t, conn, "m", "select iid from mbus4.consumen('q', amt => 9)")
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
