package calls

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

// A post under an iid waits for whoever has posted under it, or consumed what was, and has not
// committed. That it waits is seen by lock_timeout; what it comes to, when the other has ended.
func TestPostWaitsForAnothersIID(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ before, other, commit, rollback string }{
		"posted":   {"select 1", "select mbus4.post('q', '', iid => 'i')", "23505", "i"},
		"consumed": {"select mbus4.post('q', '', iid => 'i')", "select iid from mbus4.consume('q')", "i", "23505"},
		"taken":    {"select mbus4.post('q', '', iid => 'i')", "select (mbus4.take('i')).iid", "i", "23505"},
	} {
		for _, end := range []string{"commit", "rollback"} {
			database := harness.NewQueueDatabase(t, "q")
			other, conn := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database)
			harness.Ask(t, other, c.before)
			harness.Ask(t, other, "begin")
			harness.Ask(t, other, c.other)
			harness.Ask(t, conn, "set lock_timeout = '100ms'")
			harness.Refused(t, conn, "55P03", "select mbus4.post('q', '', iid => 'i')")
			harness.Want(t, conn, "j", "select mbus4.post('q', '', iid => 'j')") // no other waits
			harness.Ask(t, other, end)
			want := c.rollback
			if end == "commit" {
				want = c.commit
			}
			got, err := harness.Query(harness.Context(t), conn, "select mbus4.post('q', '', iid => 'i')")
			if got+harness.SQLState(err) != want {
				t.Errorf("%s, %s: got %q, %s; want %s", what, end, got, harness.Describe(err), want)
			}
		}
	}
}
