package delivery

import (
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// Whatever the statistics say of the small tables, a condition that raises an error meets only the rows
// that the call is about.
func TestCallsAfterAnalyze(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"a", "b", "c"}, func(t *testing.T, s *forms.Session) {
		harness.Ask(t, harness.Connect(t, harness.Direct(), s.Database), "vacuum analyze mbus4.queue, mbus4.consumer, mbus4.message")
		s.Want(t, "", "select mbus4.create_consumer('b', 'x')")
		s.Want(t, "", "select mbus4.drop_consumer('b', 'x')")
		s.Want(t, "", "select mbus4.create_trigger('a', 'b')")
		s.Want(t, "", "select mbus4.drop_trigger('a', 'b')")
		s.Want(t, "", "select mbus4.drop_queue('a')")
		s.Want(t, "", "select mbus4.drop_consumer('b', 'default')")
		s.Refused(t, "42809", "select mbus4.drop_queue('dmq')")
		s.Refused(t, "42809", "select mbus4.drop_consumer('dmq', 'default')")
	})
}

// Copies along a trigger keep the order in which one statement posts.
func TestTriggerKeepsOrder(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q", "r")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.create_trigger('q', 'r')")
	harness.Ask(t, conn, "select n, mbus4.post('q', hstore('n', n::text)) from generate_series($1::int, $2::int) n", 1, 4)
	for _, q := range []string{"q", "r"} {
		if got := harness.Ask(t, conn, "select string_agg(data->'n', ' ') from mbus4.consumen($1, amt => 10)", q); got != "1 2 3 4" {
			t.Errorf("%s gives %s", q, got)
		}
	}
}

// An expired message that nobody has swept yet does not keep its iid.
func TestExpiredIidIsFree(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.post('q', 'n=>1', expires => localtimestamp, iid => 'x')")
	harness.Ask(t, conn, "select mbus4.post('q', 'n=>2', iid => 'x')")
	if got := harness.Ask(t, conn, "select string_agg(data->'n', ' ') from mbus4.consumen('q', amt => 10)"); got != "2" {
		t.Errorf("got %s", got)
	}
}
