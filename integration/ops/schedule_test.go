package ops

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// With two proxies each tick is posted once, and when one of them is killed the other goes on.
func TestScheduleAcrossProxies(t *testing.T) {
	t.Parallel()
	second := harness.NewProxy(t)
	database := harness.NewQueueDatabase(t, "q")
	one, two := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, second.Endpoint, database)
	harness.Ask(t, one, "select mbus4.schedule('s' || n, '* * * * * *', 'q') from generate_series(0, 4) n")
	harness.Want(t, two, "5", "select count(*) from mbus4.schedules")
	ticks := map[string][]string{} // by schedule
	collect := func(n int) {
		t.Helper()
		deadline := time.After(harness.AskLimit)
		for got := 0; got < n; {
			for _, conn := range []*pgconn.PgConn{one, two} {
				if conn.IsClosed() {
					continue
				}
				for _, row := range strings.Fields(harness.Ask(t, conn, "select headers->'schedule' || '/' || (headers->'scheduled_at') from mbus4.consumen('q', amt => 10)")) {
					name, at, _ := strings.Cut(row, "/")
					ticks[name] = append(ticks[name], at)
					got++
				}
			}
			select {
			case <-deadline:
				t.Fatalf("%d of %d ticks", got, n)
			default:
			}
		}
	}
	collect(25)
	if err := second.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = two.Close(harness.Context(t))
	collect(25)
	for name, at := range ticks {
		seen := map[string]bool{}
		for _, tick := range at {
			if seen[tick] {
				t.Errorf("%s: %s was posted twice", name, tick)
			}
			seen[tick] = true
		}
	}
	if len(ticks) != 5 {
		t.Errorf("ticks of %d schedules", len(ticks))
	}
	// Between the first and the last none is missing that was not counted.
	for n := range 5 {
		name := fmt.Sprint("s", n)
		first, last := ticks[name][0], ticks[name][len(ticks[name])-1]
		harness.Want(t, one, "t", "select $1::timestamptz - $2::timestamptz <= ($3 - 1 + missed) * interval '1 s' from mbus4.schedules where name = $4",
			last, first, len(ticks[name]), name)
	}
}

// Ticks are posted while nobody uses the database, and a lock on the table of schedules that a
// client holds delays them only.
func TestScheduleOfIdleDatabase(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.schedule('s', '*/4 * * * * *', 'q')")
	_ = conn.Close(harness.Context(t))
	direct := harness.Connect(t, harness.Direct(), database)
	const counted = "select count(*) >= $1 from mbus4.message"
	harness.Await(t, direct, counted, 2)
	harness.Want(t, direct, "t|t", `select s.last_error is null, s.last_at - min((m.headers->'scheduled_at')::timestamptz) <= (count(*) - 1 + s.missed) * interval '4 s'
		from mbus4.schedules s, mbus4.message m group by s.last_error, s.last_at, s.missed`)
	locked := harness.Ask(t, direct, "begin; lock mbus4.schedule; select count(*) + 1 from mbus4.message")
	harness.Await(t, direct, "select clock_timestamp() > next_at + interval '1 s' from mbus4.schedules")
	harness.Ask(t, direct, "commit")
	harness.Await(t, direct, counted, locked)
}
