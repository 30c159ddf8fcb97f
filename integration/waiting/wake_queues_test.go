package waiting

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mbusproxy/integration/internal/harness"
)

// A post through one proxy wakes a call that waits at another, without a sweep: whether its text
// names the queue or not, a value does, and when a trigger of which only the other proxy knows
// copies the message.
func TestWaitAtAnotherProxy(t *testing.T) {
	t.Parallel()
	for name, post := range map[string]struct {
		sql  string
		args []any
	}{
		"named":       {`select mbus4.post('q', 'n=>1')`, nil},
		"computed":    {`select mbus4.post(lower('Q'), 'n=>1')`, nil},
		"bound":       {`select mbus4.post($1, 'n=>1')`, []any{"Q"}},
		"bound, cast": {`select mbus4.post($1::text, 'n=>1')`, []any{"q"}},
		"bound twice": {`select mbus4.post($1, hstore('n', $1::text)) from (select 'q' where 'q' = $1) x`, []any{"q"}},
		"trigger":     {`select mbus4.post('src', 'n=>1')`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here, there, database := unswept(t), unswept(t), harness.NewQueueDatabase(t, "q")
			direct, poster, waiter := harness.Connect(t, harness.Direct(), database), harness.Connect(t, here.Endpoint, database), harness.Connect(t, there.Endpoint, database)
			if name == "trigger" {
				harness.Ask(t, waiter, `select mbus4.create_queue('src', 1)`)
				harness.Ask(t, waiter, `select mbus4.create_trigger('src', 'q')`)
			}
			for range 3 {
				a := ask(t, waiter, waitForOne)
				awaitWaiting(t, direct, waiter)
				// The first proxy finds out within a second that it is to tell the other.
				tick := time.NewTicker(50 * time.Millisecond)
				for answered := false; !answered; {
					harness.Ask(t, poster, post.sql, post.args...)
					select {
					case <-a.done:
						answered = true
					case <-tick.C:
					}
				}
				tick.Stop()
				if name == "bound twice" {
					a.want(t, "q")
				} else {
					a.want(t, "1")
				}
				harness.Ask(t, poster, "select count(*) from mbus4.consumen('q', amt => null)")
			}
		})
	}
}

// A post wakes who waits for its queue, also where calls wait for many others, and leaves those
// alone: their sessions do nothing. Its text names the queue, or a value does.
func TestPostWakesItsQueueOnly(t *testing.T) {
	t.Parallel()
	const queues = 12
	proxy, database := unswept(t), harness.NewQueueDatabase(t, "q")
	direct, poster := harness.Connect(t, harness.Direct(), database), harness.Connect(t, proxy.Endpoint, database)
	for i := range queues {
		harness.Ask(t, poster, fmt.Sprintf(`select mbus4.create_queue('other_%d', 1)`, i))
		conn := harness.Connect(t, proxy.Endpoint, database)
		ask(t, conn, fmt.Sprintf(`select data->'n' from mbus4.consume('other_%d', wait => '1h')`, i))
		awaitWaiting(t, direct, conn)
	}
	waiter := harness.Connect(t, proxy.Endpoint, database)
	const others = `select count(*) || ' ' || max(state_change) from pg_stat_activity
		where datname = current_database() and query like '%at_await%' and pid not in ($1, pg_backend_pid())`
	const bound = `select mbus4.post($1, hstore('n', $2::text))`
	if _, err := poster.Prepare(t.Context(), "post", bound, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		a := ask(t, waiter, waitForOne)
		awaitWaiting(t, direct, waiter)
		before := harness.Ask(t, direct, others, int(waiter.PID()))
		switch i {
		case 0:
			harness.Ask(t, poster, `select mbus4.post('q', 'n=>0')`)
		case 1, 2: // a statement that is new, and that is known
			harness.Ask(t, poster, bound, "q", fmt.Sprint(i))
		default:
			if r := poster.ExecPrepared(t.Context(), "post", [][]byte{[]byte("Q"), []byte(fmt.Sprint(i))}, nil, nil).Read(); r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		a.want(t, fmt.Sprint(i))
		if after := harness.Ask(t, direct, others, int(waiter.PID())); after != before || !strings.HasPrefix(before, fmt.Sprint(queues)) {
			t.Errorf("the sessions of other queues: %s before, %s after", before, after)
		}
	}
}

// Posts that the selector of a consumer does not select wake who waits for it once at most.
func TestPostWakesWhomItIsFor(t *testing.T) {
	t.Parallel()
	proxy, database := unswept(t), harness.NewQueueDatabase(t, "q")
	direct, poster, waiter := harness.Connect(t, harness.Direct(), database), harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database)
	harness.Ask(t, poster, `select mbus4.create_consumer('q', 'few', $$t.data->'n' = 'mine'$$)`)
	a := ask(t, waiter, `select data->'n' from mbus4.consume('q', 'few', wait => '1h')`)
	awaitWaiting(t, direct, waiter)
	const since = `select state_change from pg_stat_activity where pid = $1`
	before := harness.Ask(t, direct, since, int(waiter.PID()))
	harness.Ask(t, poster, `select mbus4.post('q', 'n=>other')`)
	harness.Await(t, direct, `select state_change > $2::timestamptz and state = 'idle' from pg_stat_activity where pid = $1`, int(waiter.PID()), before)
	before = harness.Ask(t, direct, since, int(waiter.PID()))
	for range 20 {
		harness.Ask(t, poster, `select mbus4.post('q', 'n=>other')`)
	}
	if after := harness.Ask(t, direct, since, int(waiter.PID())); after != before {
		t.Errorf("it has looked at %s and at %s", before, after)
	}
	harness.Ask(t, poster, `select mbus4.post('q', 'n=>mine')`)
	a.want(t, "mine")
}
