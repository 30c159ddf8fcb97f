package integration

import (
	"fmt"
	"testing"
	"time"
)

// Every consumer has its own copy of what was posted since it was created.
func TestFanOut(t *testing.T) {
	t.Parallel()
	forEachForm(t, []string{"q"}, func(t *testing.T, s *session) {
		s.want(t, "before", "select mbus4.post('q', 'a=>1', iid => 'before')")
		s.want(t, "", "select mbus4.create_consumer('q', 'audit')")
		s.want(t, "", "select mbus4.create_consumer('legacy', 'q')") // the order of older programs
		s.want(t, "after", "select mbus4.post('q', 'a=>1', iid => 'after')")
		s.want(t, "before\nafter", "select iid from mbus4.consumen('q', amt => 9)")
		s.want(t, "after", "select iid from mbus4.consumen('q', $1, 9)", "audit")
		s.want(t, "after", "select iid from mbus4.consume_q_by_legacy()")
		s.want(t, "", "select iid from mbus4.consume_q_by_legacy()")

		// take_from takes one consumer's copy, take those of all.
		s.want(t, "x", "select mbus4.post('q', 'a=>1', iid => 'x')")
		s.want(t, "x", "select iid from mbus4.take_from_q_by_audit('x')")
		s.want(t, "∅", "select iid from mbus4.take_from_q_by_audit('x')")
		s.want(t, "t", "select mbus4.is_msg_exists('x')")
		s.want(t, "x", "select iid from mbus4.take('x')")
		s.want(t, "f", "select mbus4.is_msg_exists('x')")

		s.want(t, "", "select mbus4.drop_consumer('audit', 'q')")
		s.want(t, "", "select mbus4.drop_consumer('q', 'legacy')")
		s.want(t, "y", "select mbus4.post('q', 'a=>1', iid => 'y')")
		s.refused(t, "42704", "select iid from mbus4.consume('q', 'audit')")
		s.want(t, "y", "select iid from mbus4.consume('q')")
		s.want(t, "f", "select mbus4.is_msg_exists('y')")
	})
}

// An iid is unique per consumer.
func TestSameIID(t *testing.T) {
	t.Parallel()
	forEachForm(t, []string{"q"}, func(t *testing.T, s *session) {
		post := "select mbus4.post('q', $1, iid => 'same')"
		s.want(t, "same", post, "n=>1")
		s.refused(t, "23505", post, "n=>2")
		s.want(t, "same|1", "select iid, data->'n' from mbus4.consume('q')")
		s.want(t, "same", post, "n=>3")

		// A consumer that is through with it gets a copy, a slower one keeps its own.
		s.want(t, "same|3", "select iid, data->'n' from mbus4.consume('q')")
		s.want(t, "", "select mbus4.create_consumer('q', 'slow')")
		s.want(t, "same", post, "n=>4")
		s.want(t, "same|4", "select iid, data->'n' from mbus4.consume('q')")
		s.want(t, "same", post, "n=>5")
		s.refused(t, "23505", post, "n=>6")
		s.want(t, "same|5", "select iid, data->'n' from mbus4.consumen('q', amt => 9)")
		s.want(t, "same|4", "select iid, data->'n' from mbus4.consumen('q', 'slow', 9)")
	})
}

// A message goes back under its old iid in the transaction that consumed it.
func TestPutBack(t *testing.T) {
	t.Parallel()
	forEachForm(t, []string{"q"}, func(t *testing.T, s *session) {
		s.want(t, "m", "select mbus4.post('q', 'tries=>0', iid => 'm')")
		for tries := range 3 {
			s.want(t, "", "begin")
			s.want(t, fmt.Sprint("m|", tries), "select iid, data->'tries' from mbus4.consume('q')")
			s.want(t, "m", "select mbus4.post('q', hstore('tries', $1), iid => 'm')", tries+1)
			s.want(t, "", "commit")
		}
		s.want(t, "m", "select mbus4.post('q', m.data, iid => m.iid) from mbus4.consume('q') m")
		s.want(t, "m|3", "select iid, data->'tries' from mbus4.consumen('q', amt => 9)")
	})
}

// A consumer that holds a message hides it from its own processes, not from other consumers.
func TestConsumersDoNotWait(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q")
	one, two := connect(t, proxied(), database), connect(t, proxied(), database)
	ask(t, one, "select mbus4.create_consumer('q', 'audit')")
	ask(t, one, "select mbus4.post('q', 'a=>1', iid => 'm')")
	want(t, one, "m", "begin; select iid from mbus4.consume('q')")
	want(t, two, "m", "begin; select iid from mbus4.consume('q', 'audit')")
	want(t, two, "", "select iid from mbus4.consume('q')")
	want(t, one, "", "select iid from mbus4.consume('q', 'audit')")
	ask(t, one, "rollback")
	ask(t, two, "commit")
	want(t, two, "", "select iid from mbus4.consume('q', 'audit')")
	want(t, two, "m", "select iid from mbus4.consume('q')")
}

// take waits for whoever holds the message, and gets it when it is given back.
func TestTakeWaits(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"mbus4.take($1)", "mbus4.take_from_q_by_default($1)"} {
		for _, c := range []struct{ end, got string }{{"rollback", "m"}, {"commit", null}} {
			t.Run(call+"/"+c.end, func(t *testing.T) {
				t.Parallel()
				database := newQueueDatabase(t, "q")
				holder, taker, server := connect(t, proxied(), database), connect(t, proxied(), database), connect(t, direct(), database)
				ask(t, holder, "select mbus4.post('q', 'a=>1', iid => 'm')")
				want(t, holder, "m", "begin; select iid from mbus4.consume('q')")
				got := make(chan string, 1)
				ctx := testContext(t)
				go func() {
					text, err := query(ctx, taker, "select iid from "+call, "m")
					if err != nil {
						text = describe(err)
					}
					got <- text
				}()
				await(t, server, 20*time.Second, fmt.Sprintf(
					"select count(*) = 1 from pg_stat_activity where pid = %d and wait_event_type = 'Lock'", taker.PID()))
				ask(t, holder, c.end)
				if text := <-got; text != c.got {
					t.Errorf("got %q, want %q", text, c.got)
				}
			})
		}
	}
}
