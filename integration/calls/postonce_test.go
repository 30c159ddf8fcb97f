package calls

import (
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// A second post with a key stores nothing and gives the first one's iid, until the window is over,
// in whichever way it comes.
func TestPostOnce(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q", "r", "fed"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_trigger('q', 'fed')")
		first := harness.Ask(t, s.Conn, "select mbus4.post('q', 'n=>1', unique_key => 'k', unique_for => '1 h')")
		for _, sql := range []string{
			"select mbus4.post('q', 'n=>2', unique_key => 'k', unique_for => '1 s')", "select mbus4.post('Q', 'n=>2', iid => 'other', unique_key => 'k', unique_for => '1 s')",
			"select mbus4.post_q('n=>2', 'h=>1', unique_key => 'k', unique_for => '1 h')", "select case when true then mbus4.post('q', 'n=>2', unique_key => 'k', unique_for => '1 h') end",
			"select i from mbus4.post('q', 'n=>2', unique_key => 'k', unique_for => '1 h') i", "select mbus4.post('q', 'n=>2', unique_key => 'k', unique_for => '1 h') from generate_series(1, 1)",
		} {
			s.Want(t, first, sql)
		}
		s.Want(t, "t", "select mbus4.post('q', 'n=>3', unique_key => 'K', unique_for => '1 h') <> $1", first)
		s.Want(t, "t", "select mbus4.post('r', 'n=>4', unique_key => 'k', unique_for => '1 h') <> $1", first)
		s.Want(t, "1,3", "select string_agg(data->'n', ',') from mbus4.consumen('q', amt => 9)")
		s.Want(t, "1,3", "select string_agg(data->'n', ',') from mbus4.consumen('fed', amt => 9)")
		s.Want(t, first, "select mbus4.post('q', 'n=>2', unique_key => 'k', unique_for => '1 h')") // consumed or not
		s.Want(t, "1", "select count(*) from mbus4.post('q', 'n=>5', unique_key => 'unread', unique_for => '1 h')")
		s.Want(t, "5", "select string_agg(data->'n', ',') from mbus4.consumen('q', amt => 9)")

		// What is rolled back was not posted.
		s.Want(t, "", "begin")
		s.Want(t, "x", "select mbus4.post('q', 'n=>6', iid => 'x', unique_key => 'back', unique_for => '1 h')")
		s.Want(t, "x", "select mbus4.post('q', 'n=>6', iid => 'y', unique_key => 'back', unique_for => '1 h')")
		s.Want(t, "", "rollback")
		s.Want(t, "z", "select mbus4.post('q', 'n=>6', iid => 'z', unique_key => 'back', unique_for => '0.2 s')")
		harness.Await(t, s.Conn, "select not exists (select from mbus4.unique_post where key = 'back')") // swept
		s.Want(t, "z2", "select mbus4.post('q', 'n=>7', iid => 'z2', unique_key => 'back', unique_for => '1 h')")
		s.Want(t, "6,7", "select string_agg(data->'n', ',') from mbus4.consumen('q', amt => 9)")

		s.Want(t, "", "select mbus4.drop_queue('r')")
		s.Want(t, "", "select mbus4.create_queue('r', 1)")
		s.Want(t, "anew", "select mbus4.post('r', 'n=>4', iid => 'anew', unique_key => 'k', unique_for => '1 h')")
	})
}

// Who posts with a key that an open transaction has posted with waits for that: after its commit it
// gets that iid, after a rollback it posts.
func TestPostOnceWaits(t *testing.T) {
	t.Parallel()
	const post = "select mbus4.post('q', 'a=>1', iid => $1, unique_key => 'k', unique_for => '1 h')"
	for end, want := range map[string]string{"commit": "first", "rollback": "second"} {
		database := harness.NewQueueDatabase(t, "q")
		other, conn, watch := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Direct(), database)
		harness.Ask(t, other, "begin")
		harness.Want(t, other, "first", post, "first")
		pid := harness.Ask(t, conn, "select pg_backend_pid()")
		got := make(chan string, 1)
		go func() {
			text, err := harness.Query(harness.Context(t), conn, post, "second")
			got <- text + harness.SQLState(err)
		}()
		harness.Await(t, watch, "select exists (select from pg_locks where pid = $1::int and not granted)", pid)
		harness.Want(t, watch, "0", "select count(*) from mbus4.message")
		harness.Ask(t, other, end)
		if text := <-got; text != want {
			t.Errorf("after %s: %s, want %s", end, text, want)
		}
		harness.Want(t, conn, want, "select string_agg(iid, ' ') from mbus4.consumen('q', amt => 9)")
	}

	// Above READ COMMITTED it is known that somebody has posted, but not under which iid.
	database := harness.NewQueueDatabase(t, "q")
	other, conn := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "begin isolation level repeatable read; select 1")
	harness.Want(t, conn, "0", "select count(*) from mbus4.unique_post")
	harness.Want(t, other, "first", post, "first")
	harness.Refused(t, conn, "40001", post, "second")
}
