package delivery

import (
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// What the views and messages_of show of what calls have done, in each protocol, and past the proxy just the same.
func TestSeeing(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		first := harness.Ask(t, s.Conn, "select mbus4.post('q', 'n=>1')")
		s.Want(t, "x", "select mbus4.post('q', 'n=>2', iid => 'x')")
		s.Want(t, "late", "select mbus4.post('q', 'n=>3', iid => 'late', delayed_until => '2100-01-01')")
		s.Want(t, "m", "select mbus4.post('q', 'n=>4', $1, iid => 'm')", harness.WaitFor("late"))
		s.Want(t, "4", "select count(mbus4.post('q', hstore('n', n::text))) from generate_series(5, 8) n")
		other := harness.Connect(t, harness.Proxied(), s.Database)
		harness.Ask(t, other, "set application_name to 'worker 7'")
		s.Want(t, "1", "select attempt from mbus4.lease('q')") // of the first one
		harness.Ask(t, other, "begin")
		harness.Want(t, other, "x", "select iid from mbus4.consume('q')")
		pid := harness.Ask(t, other, "select pg_backend_pid()")
		direct := harness.Connect(t, harness.Direct(), s.Database)
		want := func(want, sql string, args ...any) {
			t.Helper()
			s.Want(t, want, sql, args...)
			harness.Want(t, direct, want, sql, args...)
		}
		const counts = "select ready, delayed, waiting, leased, held, dead, selector_errors is null, exact from "
		want("4|1|1|1|1|0|t|t", counts+"mbus4.consumers where queue = 'q'")
		want("4|1|1|1|1|0|t|t", counts+"mbus4.queues where queue = 'q'")
		const shown = "select iid, state, attempt, pid, username, application, headers->'destination', data->'n' from mbus4.messages_of("
		want("x|held|∅|"+pid+"|postgres|worker 7|q|2", shown+"'q', state => 'held')")
		want("late|delayed|∅|∅|∅|∅|q|3", shown+"$1, state => 'delayed')", "q")
		want("m|waiting|{late}", "select iid, state, waits_for from mbus4.messages_of('q', 'default', 'waiting')")
		want(first+"|leased|1|1\n", "select iid, state, attempt, data->'n' || e'\\n' from mbus4.messages_of('q', state => 'leased', amt => 1)")
		// Each iid that it shows is one that other calls find.
		s.Want(t, "4|4|ready", "select count(*), count(p.iid), min((select w.state from mbus4.why(m.iid) w)) from mbus4.messages_of('q', state => 'ready') m cross join lateral mbus4.peek(m.iid) p")
		want("q|t", "select 'q', count(*) > 0 from mbus4.rates")
		// What fails is dead.
		s.Want(t, "t", "select mbus4.fail(l.lease, 'torn') from mbus4.lease('q') l")
		want("3|1", "select ready, dead from mbus4.consumers where queue = 'q'")
		want("1|1", "select (select dead from mbus4.queues where queue = 'q'), (select ready from mbus4.queues where queue = 'dmq')")
		want("dead|torn|5", "select state, detail, data->'n' from mbus4.messages_of('q', state => 'dead')")
		harness.Ask(t, other, "commit")
		want("3|0", "select ready, held from mbus4.consumers where queue = 'q'")
	})
}
