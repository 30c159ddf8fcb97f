package integration

import "testing"

// Whatever the statistics say of the small tables, a condition that raises an error meets only the rows
// that the call is about.
func TestCallsAfterAnalyze(t *testing.T) {
	t.Parallel()
	forEachForm(t, []string{"a", "b", "c"}, func(t *testing.T, s *session) {
		ask(t, connect(t, direct(), s.database), "vacuum analyze mbus4.queue, mbus4.consumer, mbus4.message")
		s.want(t, "", "select mbus4.create_consumer('b', 'x')")
		s.want(t, "", "select mbus4.drop_consumer('b', 'x')")
		s.want(t, "", "select mbus4.create_trigger('a', 'b')")
		s.want(t, "", "select mbus4.drop_trigger('a', 'b')")
		s.want(t, "", "select mbus4.drop_queue('a')")
		s.want(t, "", "select mbus4.drop_consumer('b', 'default')")
		s.refused(t, "42809", "select mbus4.drop_queue('dmq')")
		s.refused(t, "42809", "select mbus4.drop_consumer('dmq', 'default')")
	})
}

// Copies along a trigger keep the order in which one statement posts.
func TestTriggerKeepsOrder(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q", "r")
	conn := connect(t, proxied(), database)
	ask(t, conn, "select mbus4.create_trigger('q', 'r')")
	ask(t, conn, "select n, mbus4.post('q', hstore('n', n::text)) from generate_series($1::int, $2::int) n", 1, 4)
	for _, q := range []string{"q", "r"} {
		if got := ask(t, conn, "select string_agg(data->'n', ' ') from mbus4.consumen($1, amt => 10)", q); got != "1 2 3 4" {
			t.Errorf("%s gives %s", q, got)
		}
	}
}

// An expired message that nobody has swept yet does not keep its iid.
func TestExpiredIidIsFree(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q")
	conn := connect(t, proxied(), database)
	ask(t, conn, "select mbus4.post('q', 'n=>1', expires => localtimestamp, iid => 'x')")
	ask(t, conn, "select mbus4.post('q', 'n=>2', iid => 'x')")
	if got := ask(t, conn, "select string_agg(data->'n', ' ') from mbus4.consumen('q', amt => 10)"); got != "2" {
		t.Errorf("got %s", got)
	}
}
