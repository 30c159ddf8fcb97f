package delivery

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

// Purging costs what is purged, beside whatever backlog, and as much for a message among many as for one among few.
func TestPurgeIsBounded(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q", "other")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.post('q', 'a=>1')")
	size := 0
	for _, to := range []int{0, 2000, 60_000, 200_000} {
		harness.Ask(t, conn, "select count(p) from (select mbus4.post('other', hstore('n', n::text)) as p from generate_series(1, $1::int) n) s", to-size)
		size = to
		if got := harness.PagesTouched(t, conn, "select mbus4.purge_queue('q')"); got > 600 {
			t.Errorf("beside %d messages purging one touches %v pages", size, got)
		}
		if size > 0 && size <= 60_000 {
			if got := harness.PagesTouched(t, conn, "select mbus4.purge_queue('other')"); got > 600+8*float64(size) {
				t.Errorf("purging %d messages touches %v pages", size, got)
			}
		}
	}
}
