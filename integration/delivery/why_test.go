package delivery

import (
	"strings"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// Each state that a message can be in, for each of its consumers.
func TestWhy(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"a", "b"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_consumer('b', 'second')")
		first := harness.Ask(t, s.Conn, "select mbus4.post('a', 'n=>1')")
		s.Want(t, "x", "select mbus4.post('a', 'n=>2', iid => 'x')")
		s.Want(t, "late", "select mbus4.post('a', 'n=>3', iid => 'late', delayed_until => '2100-01-01')")
		s.Want(t, "m", "select mbus4.post('b', 'n=>4', $1, iid => 'm')", harness.WaitFor("x", "late", "not.there"))
		why := func(iid, want string) {
			t.Helper()
			const ask = "select queue, consumer, state, until, detail, waits_for from mbus4.why($1) where queue <> 'dmq'"
			for range 5000 { // housekeeping may hold it for a moment, to wake it
				got, err := s.Form.Run(harness.Context(t), s.Conn, forms.Do(ask, iid))
				if err != nil || got == want || !strings.Contains(got, "|held|") {
					break
				}
			}
			s.Want(t, want, ask, iid)
		}
		why(first, "a|default|ready|∅|0 before it|∅")
		why("x", "a|default|ready|∅|1 before it|∅")
		why("not.there", "")
		s.Want(t, "t|t", "select state = 'delayed', until = '2100-01-01' from mbus4.why('late')")
		why("m", "b|default|waiting|∅|the messages in waits_for come first|{x,late}\nb|second|waiting|∅|the messages in waits_for come first|{x,late}")

		// Who has consumed it and has not committed.
		other := harness.Connect(t, harness.Proxied(), s.Database)
		harness.Ask(t, other, "set application_name to 'worker 7'")
		harness.Ask(t, other, "begin")
		harness.Want(t, other, first, "select iid from mbus4.consume('a')")
		pid := harness.Ask(t, other, "select pg_backend_pid()")
		s.Want(t, "held|an open transaction has consumed or locked it|"+pid+"|postgres|worker 7", "select state, detail, pid, username, application from mbus4.why($1)", first)
		s.Want(t, "ready", "select (mbus4.why($1)).state", "x")
		harness.Ask(t, other, "rollback")
		why(first, "a|default|ready|∅|0 before it|∅")

		// Of several messages, and where nobody reads the result.
		s.Want(t, "0|x|ready\n1|late|delayed", "select n - 1, i, (mbus4.why(i)).state from (values (1, 'x'), (2, 'late'), (3, 'no')) v (n, i) order by 1")
		s.Want(t, "2", "select count(*) from mbus4.why('m')")
		s.Want(t, "", "select iid from mbus4.consume('b')")
		s.Want(t, "x|t", "select iid, data is not null from mbus4.take('x')")
		s.Want(t, "late|t", "select iid, data is not null from mbus4.take('late')")
		why("m", "b|default|ready|∅|0 before it|∅\nb|second|ready|∅|0 before it|∅")
		s.Want(t, "gone", "select mbus4.post('a', 'n=>5', iid => 'gone', expires => clock_timestamp()::timestamp + interval '1 hour')")
		s.Want(t, "ready|t", "select state, until > now() from mbus4.why('gone')")
	})
}

// Whoever may consume may ask.
func TestWhyRights(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.post('q', 'n=>1', iid => 'i')")
	harness.Ask(t, conn, "set role mbus4_user")
	harness.Want(t, conn, "ready", "select state from mbus4.why('i')")
	harness.Ask(t, conn, "reset role; create role why_nobody; set role why_nobody")
	_, err := harness.Query(harness.Context(t), conn, "select state from mbus4.why('i')")
	if err == nil || !strings.Contains(harness.Describe(err), "42501") {
		t.Error(err)
	}
	harness.Ask(t, conn, "reset role; drop role why_nobody")
}
