package delivery

import (
	"fmt"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// Every consumer has its own copy of what was posted since it was created.
func TestFanOut(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "before", "select mbus4.post('q', 'a=>1', iid => 'before')")
		s.Want(t, "", "select mbus4.create_consumer('q', 'audit')")
		s.Want(t, "", "select mbus4.create_consumer('legacy', 'q')") // the order of older programs
		s.Want(t, "after", "select mbus4.post('q', 'a=>1', iid => 'after')")
		s.Want(t, "before\nafter", "select iid from mbus4.consumen('q', amt => 9)")
		s.Want(t, "after", "select iid from mbus4.consumen('q', $1, 9)", "audit")
		s.Want(t, "after", "select iid from mbus4.consume_q_by_legacy()")
		s.Want(t, "", "select iid from mbus4.consume_q_by_legacy()")

		// take_from takes one consumer's copy, take those of all.
		s.Want(t, "x", "select mbus4.post('q', 'a=>1', iid => 'x')")
		s.Want(t, "x", "select iid from mbus4.take_from_q_by_audit('x')")
		s.Want(t, "∅", "select iid from mbus4.take_from_q_by_audit('x')")
		s.Want(t, "t", "select mbus4.is_msg_exists('x')")
		s.Want(t, "x", "select iid from mbus4.take('x')")
		s.Want(t, "f", "select mbus4.is_msg_exists('x')")

		s.Want(t, "", "select mbus4.drop_consumer('audit', 'q')")
		s.Want(t, "", "select mbus4.drop_consumer('q', 'legacy')")
		s.Want(t, "y", "select mbus4.post('q', 'a=>1', iid => 'y')")
		s.Refused(t, "42704", "select iid from mbus4.consume('q', 'audit')")
		s.Want(t, "y", "select iid from mbus4.consume('q')")
		s.Want(t, "f", "select mbus4.is_msg_exists('y')")
	})
}

// An iid is unique per consumer.
func TestSameIID(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		post := "select mbus4.post('q', $1, iid => 'same')"
		s.Want(t, "same", post, "n=>1")
		s.Refused(t, "23505", post, "n=>2")
		s.Want(t, "same|1", "select iid, data->'n' from mbus4.consume('q')")
		s.Want(t, "same", post, "n=>3")

		// A consumer that is through with it gets a copy, a slower one keeps its own.
		s.Want(t, "same|3", "select iid, data->'n' from mbus4.consume('q')")
		s.Want(t, "", "select mbus4.create_consumer('q', 'slow')")
		s.Want(t, "same", post, "n=>4")
		s.Want(t, "same|4", "select iid, data->'n' from mbus4.consume('q')")
		s.Want(t, "same", post, "n=>5")
		s.Refused(t, "23505", post, "n=>6")
		s.Want(t, "same|5", "select iid, data->'n' from mbus4.consumen('q', amt => 9)")
		s.Want(t, "same|4", "select iid, data->'n' from mbus4.consumen('q', 'slow', 9)")
	})
}

// A message goes back under its old iid in the transaction that consumed it.
func TestPutBack(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "m", "select mbus4.post('q', 'tries=>0', iid => 'm')")
		for tries := range 3 {
			s.Want(t, "", "begin")
			s.Want(t, fmt.Sprint("m|", tries), "select iid, data->'tries' from mbus4.consume('q')")
			s.Want(t, "m", "select mbus4.post('q', hstore('tries', $1), iid => 'm')", tries+1)
			s.Want(t, "", "commit")
		}
		s.Want(t, "m", "select mbus4.post('q', m.data, iid => m.iid) from mbus4.consume('q') m")
		s.Want(t, "m|3", "select iid, data->'tries' from mbus4.consumen('q', amt => 9)")
	})
}

// A consumer that holds a message hides it from its own processes, not from other consumers.
func TestConsumersDoNotWait(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	one, two := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, one, "select mbus4.create_consumer('q', 'audit')")
	harness.Ask(t, one, "select mbus4.post('q', 'a=>1', iid => 'm')")
	harness.Want(t, one, "m", "begin; select iid from mbus4.consume('q')")
	harness.Want(t, two, "m", "begin; select iid from mbus4.consume('q', 'audit')")
	harness.Want(t, two, "", "select iid from mbus4.consume('q')")
	harness.Want(t, one, "", "select iid from mbus4.consume('q', 'audit')")
	harness.Ask(t, one, "rollback")
	harness.Ask(t, two, "commit")
	harness.Want(t, two, "", "select iid from mbus4.consume('q', 'audit')")
	harness.Want(t, two, "m", "select iid from mbus4.consume('q')")
}

// take waits for whoever holds the message, and gets it when it is given back.
func TestTakeWaits(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"mbus4.take($1)", "mbus4.take_from_q_by_default($1)"} {
		for _, c := range []struct{ end, got string }{{"rollback", "m"}, {"commit", harness.Null}} {
			t.Run(call+"/"+c.end, func(t *testing.T) {
				t.Parallel()
				database := harness.NewQueueDatabase(t, "q")
				holder, taker, server := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Direct(), database)
				harness.Ask(t, holder, "select mbus4.post('q', 'a=>1', iid => 'm')")
				harness.Want(t, holder, "m", "begin; select iid from mbus4.consume('q')")
				got := make(chan string, 1)
				ctx := harness.Context(t)
				go func() {
					text, err := harness.Query(ctx, taker, "select iid from "+call, "m")
					if err != nil {
						text = harness.Describe(err)
					}
					got <- text
				}()
				harness.Await(t, server, fmt.Sprintf(
					"select count(*) = 1 from pg_stat_activity where pid = %d and wait_event_type = 'Lock'", taker.PID()))
				harness.Ask(t, holder, c.end)
				if text := <-got; text != c.got {
					t.Errorf("got %q, want %q", text, c.got)
				}
			})
		}
	}
}
