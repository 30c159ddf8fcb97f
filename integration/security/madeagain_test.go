package security

import (
	"fmt"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// Who may create databases makes one again that is served, with a schema mbus4 of his own. No call is sent there, not for a moment.
func TestDatabaseMadeAgainByStranger(t *testing.T) {
	t.Parallel()
	stranger := harness.NewRole(t)
	harness.Admin(t, "alter role "+stranger+" createdb")
	hostile := stranger + "_hostile"
	maker := harness.ConnectAs(t, harness.Direct(), "postgres", stranger)
	harness.Ask(t, maker, "create database "+hostile)
	t.Cleanup(func() { harness.Admin(t, "drop database "+hostile) })
	there := harness.ConnectAs(t, harness.Direct(), hostile, stranger)
	for _, sql := range []string{
		"create schema mbus4", "create schema mbus4_hstore",
		"create table mbus4.schema_version (version int, oldest int)",
		"create table mbus4.log (who text)",
		"create function mbus4.bait(text) returns boolean language plpgsql as $$ begin insert into mbus4.log values (current_user); return true; end $$",
	} {
		harness.Ask(t, there, sql)
	}
	harness.Close(there)
	for round := range 3 {
		name := fmt.Sprintf("%s_db%d", stranger, round)
		harness.Ask(t, maker, "create database "+name)
		t.Cleanup(func() { harness.Admin(t, "drop database if exists "+name+" with (force)") })
		conn := harness.Connect(t, harness.Proxied(), name)
		harness.Ask(t, conn, fmt.Sprintf("select mbus4.create_queue('q%d', 1)", round))
		harness.Ask(t, conn, "select mbus4.peek('nosuch')")
		harness.Close(conn)
		for dropped := false; !dropped; {
			_, err := harness.Query(harness.Context(t), maker, "drop database "+name)
			if dropped = err == nil; !dropped && harness.SQLState(err) != "55006" { // object_in_use
				t.Fatal(err)
			}
		}
		harness.Ask(t, maker, "create database "+name+" template "+hostile)
		for range 3 {
			conn := harness.Connect(t, harness.Proxied(), name)
			for _, call := range []string{"mbus4.peek('nosuch')", "mbus4.post('q', 'k=>1')", "mbus4.is_msg_exists('m')"} {
				if _, err := harness.Query(harness.Context(t), conn, "select "+call); harness.SQLState(err) != "42501" {
					t.Errorf("%s in a database that was made again: %v", call, err)
				}
			}
			harness.Close(conn)
		}
	}
}
