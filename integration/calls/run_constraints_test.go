package calls

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

// A statement of run_on_<q> fails with its message also where it fails an assertion, or what a deferred
// constraint refuses only at the end.
func TestRunLateFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, exec, message string }{
		{"assertion", "insert into done select (($1).data->'n')::int where asserts(($1).iid <> 'm2')", "not two"},
		{
			"deferred constraint", "with d as (insert into done values ((($1).data->'n')::int)) insert into late values ((($1).data->'n')::int)",
			`duplicate key value violates unique constraint "late_pkey"`,
		},
		{"deferred trigger", "insert into checked values ((($1).data->'n')::int)", "no twos"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn := harness.Connect(t, harness.Proxied(), newLateDatabase(t))
			harness.Want(t, conn, "2", "select mbus4.run_on_q($1)", c.exec)
			harness.Want(t, conn, "f|t|f", "select mbus4.is_msg_exists('m1'), mbus4.is_msg_exists('m2'), mbus4.is_msg_exists('m3')")
			harness.Want(t, conn, "m2|"+c.message, "select iid, headers->'dmq.error' from mbus4.consume('dmq')")
			harness.Want(t, conn, "1 3", "select coalesce(nullif((select string_agg(n::text, ' ' order by n) from done), ''), (select string_agg(n::text, ' ' order by n) from checked))")
		})
	}
}

// newLateDatabase has the messages m1, m2 and m3, and what refuses 2 at the end of a transaction.
func newLateDatabase(t *testing.T) string {
	t.Helper()
	database := newRunDatabase(t, 3)
	harness.Ask(t, harness.Connect(t, harness.Direct(), database), `
		create table late (n int primary key deferrable initially deferred);
		insert into late values (2);
		create table checked (n int);
		create function asserts(b bool) returns bool language plpgsql as $$ begin assert b, 'not two'; return true; end $$;
		create function refuse_two() returns trigger language plpgsql as $$ begin if new.n = 2 then raise 'no twos'; end if; return null; end $$;
		create constraint trigger twos after insert on checked deferrable initially deferred for each row execute function refuse_two()`)
	return database
}

// What the transaction owes its constraints for other reasons is not the messages', and stays deferred.
func TestRunLeavesConstraintsDeferred(t *testing.T) {
	t.Parallel()
	conn := harness.Connect(t, harness.Proxied(), newLateDatabase(t))
	const exec = "insert into late values ((($1).data->'n')::int)"
	harness.Ask(t, conn, "begin; insert into late values (2)")
	harness.Want(t, conn, "3", "select mbus4.run_on_q($1)", "insert into done values ((($1).data->'n')::int)")
	harness.Ask(t, conn, "insert into late values (7), (7)")
	harness.Ask(t, conn, "delete from late; commit")
	harness.Want(t, conn, "1 2 3", doneNow)
	harness.Want(t, conn, "f", "select exists (select from mbus4.consume('dmq'))")

	harness.Ask(t, conn, "insert into late values (2); select mbus4.post('q', 'n=>5', iid => 'other'); select mbus4.post('q', 'n=>2', iid => 'again')")
	harness.Ask(t, conn, "begin")
	harness.Want(t, conn, "1", "select mbus4.run_on_q($1)", exec)
	harness.Ask(t, conn, "insert into late values (5); delete from late where ctid = (select max(ctid) from late); commit") // still deferred
	harness.Want(t, conn, "2 5", "select string_agg(n::text, ' ' order by n) from late")
	harness.Want(t, conn, "again", "select iid from mbus4.consume('dmq')")
}
