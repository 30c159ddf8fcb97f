package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/wiretest"

	"mbusproxy/integration/internal/harness"
)

// TestModelWaits has a few calls wait for one queue, behind two proxies, makes a message or two
// deliverable in any of the ways there are, and wants so many of the calls answered, soon, and no
// others: no wait outlives its message by more than the sweep, which is a second, and what a busy
// machine takes, for which modelPatience is generous. The longest is logged.
//
// The settings are those of TestModel.
func TestModelWaits(t *testing.T) {
	t.Parallel()
	limit, seed := wiretest.Settings(t, "MBUS_MODEL", 6*time.Second)
	r := &waitRun{T: t, database: harness.NewQueueDatabase(t, "q"), ends: []harness.Endpoint{harness.Proxied(), harness.NewProxy(t).Endpoint}, counts: map[string]int{}, ways: waitWays}
	r.direct, r.past, r.poster = r.dial(harness.Direct()), r.dial(harness.Direct()), r.dial(r.ends[1])
	r.play(limit, seed)
}

// play plays rounds.
func (r *waitRun) play(limit time.Duration, seed uint64) {
	first, began := seed, time.Now()
	for ; time.Since(began) < limit && !r.Failed(); seed++ {
		r.seed, r.random, r.history = seed, rand.New(rand.NewPCG(seed, 0)), nil
		r.round()
	}
	r.Logf("%d rounds, seeds from %d; the longest wait beside a message %v %s; %v", seed-first, first, r.longest.Round(time.Millisecond), r.slowest, r.counts)
}

// waitRun runs rounds.
type waitRun struct {
	*testing.T
	database       string
	ends           []harness.Endpoint
	direct, poster *pgconn.PgConn
	past           *pgconn.PgConn // direct as well, for what clients do past the proxies
	held           *pgconn.PgConn // has consumed what there is, in a transaction
	counts         map[string]int
	ways           []waitWay
	longest        time.Duration
	slowest        string // what the longest was for

	seed    uint64
	random  *rand.Rand
	history []string
}

// waitCall is a call that waits.
type waitCall struct {
	conn  *pgconn.PgConn
	proxy int
	kind  waitKind
	done  chan struct{}
	at    time.Time // of the answer
	text  string
	err   error
}

// waitKind is a call that waits. Those that are not selective stand in one line.
type waitKind struct {
	sql       string
	selective bool
}

var waitKinds = []waitKind{
	{"select m.data->'n' from mbus4.consume('q', wait => '10 min') m", false},
	{"select m.data->'n' from mbus4.lease('q', lease => '1 hour', wait => '10 min') m", false},
	{"with m as (select * from mbus4.consumen('q', amt => 1, wait => '10 min')) select data->'n' from m", false},
	{"select m.data->'n' from mbus4.dyn_consume('q', $$t.data->'n' <> ''$$, wait => '10 min') m", true},
}

// byTheClock ends the names of ways in which the messages become deliverable at a time that is
// given before the calls wait: on a slow machine they may have been answered by then, and so cannot
// be cancelled.
const byTheClock = ", by the clock"

// waitWay makes messages deliverable: prepare comes before the calls wait, cause after it and gives
// when they were deliverable at the latest.
type waitWay struct {
	name    string
	prepare func(r *waitRun, n int)
	cause   func(r *waitRun, n int) (due time.Time)
}

func (r *waitRun) fail(format string, args ...any) {
	r.Helper()
	r.Fatalf("%s\nMBUS_MODEL_SEED=%d:\n%s", fmt.Sprintf(format, args...), r.seed, strings.Join(r.history, "\n"))
}

func (r *waitRun) dial(e harness.Endpoint) *pgconn.PgConn { return harness.Connect(r.T, e, r.database) }

// does runs a statement at a connection.
func (r *waitRun) does(conn *pgconn.PgConn, sql string, args ...any) string {
	r.Helper()
	r.history = append(r.history, fmt.Sprintf("%s %s %v", time.Now().Format("05.000000"), sql, args))
	return harness.Ask(r.T, conn, sql, args...)
}

// round is one round; nothing is left behind.
func (r *waitRun) round() {
	way := r.ways[r.random.IntN(len(r.ways))]
	many := 1 + r.random.IntN(4)
	n := 1 + r.random.IntN(min(2, many))
	if way.name == "a schedule" {
		n = 1 // at a time
	}
	r.counts[way.name]++
	r.does(r.poster, "select mbus4.alter_consumer('q', backoff => '50 ms', max_attempts => 9)")
	if way.prepare != nil {
		way.prepare(r, n)
	}
	// Where all wait at one proxy one after another, it is known who gets the one message. Of two
	// the first is still counted when the second comes, so that three may be woken.
	inOrder := n == 1 && r.random.IntN(2) == 0
	proxy, kinds := r.random.IntN(len(r.ends)), waitKinds
	if inOrder {
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(k waitKind) bool { return k.selective })
	}
	var calls []*waitCall
	for range many {
		if !inOrder {
			proxy = r.random.IntN(len(r.ends))
		}
		c := &waitCall{proxy: proxy, kind: kinds[r.random.IntN(len(kinds))], conn: r.dial(r.ends[proxy]), done: make(chan struct{})}
		r.history = append(r.history, fmt.Sprintf("-- proxy %d waits: %s", proxy, c.kind.sql))
		calls = append(calls, c)
		go func() {
			defer close(c.done)
			c.text, c.err = harness.Query(context.Background(), c.conn, c.kind.sql)
			c.at = time.Now()
		}()
		if inOrder || r.random.IntN(2) == 0 {
			inOrder = r.awaitWaiting(c) && inOrder
		}
	}
	if left := r.random.IntN(many); many > n && r.random.IntN(3) == 0 && !strings.HasSuffix(way.name, byTheClock) {
		r.leave(calls[left])
		calls = slices.Delete(calls, left, left+1)
	}
	due := way.cause(r, n)
	answered := r.answers(calls, n, due, way.name)
	for i, c := range calls {
		if inOrder && answered[c] != (i < n) {
			r.fail("%s: call %d of %d at one proxy was answered instead of the first", way.name, i, len(calls))
		}
		if !answered[c] {
			r.leave(c)
		}
		harness.Close(c.conn)
	}
	r.does(r.poster, "select mbus4.purge_queue('q')")
}

// awaitWaiting waits until a call waits: its server has looked, and is idle. False: it was answered before.
func (r *waitRun) awaitWaiting(c *waitCall) bool {
	for deadline := time.Now().Add(modelPatience); time.Now().Before(deadline); {
		if harness.Ask(r.T, r.direct, `select state = 'idle' and query like '%at_await%' from pg_stat_activity where pid = $1`, int(c.conn.PID())) == "t" {
			return true
		}
		select {
		case <-c.done:
			return false
		case <-time.After(2 * time.Millisecond):
		}
	}
	r.fail("a call does not come to wait: %s", c.kind.sql)
	return false
}

// answers waits until n of the calls have got a message.
func (r *waitRun) answers(calls []*waitCall, n int, due time.Time, way string) map[*waitCall]bool {
	answered, got := map[*waitCall]bool{}, map[string]bool{}
	for deadline := time.Now().Add(2 * modelPatience); len(answered) < n; {
		for _, c := range calls {
			select {
			case <-c.done:
			default:
				continue
			}
			switch {
			case c.err != nil:
				r.fail("%s: %s: %s", way, c.kind.sql, harness.Describe(c.err))
			case answered[c]:
			case c.text == "" || got[c.text]:
				r.fail("%s: %s got %q", way, c.kind.sql, c.text)
			default:
				answered[c], got[c.text] = true, true
				if took := c.at.Sub(due); took > r.longest {
					r.longest, r.slowest = took, "for "+way
				}
			}
		}
		if time.Now().After(deadline) {
			r.fail("%s: %d calls of %d have been answered, and not %d", way, len(answered), len(calls), n)
		}
		<-time.After(time.Millisecond)
	}
	if r.longest > modelPatience {
		r.fail("%s: a wait has outlived its message by %v", way, r.longest)
	}
	return answered
}

// leave cancels a call, or ends its connection.
func (r *waitRun) leave(c *waitCall) {
	r.history = append(r.history, "-- a call is cancelled")
	if r.random.IntN(4) == 0 {
		if err := harness.Abort(c.conn); err != nil {
			r.fail("%v", err)
		}
		<-c.done
		harness.AwaitBackendGone(r.T, r.direct, c.conn.PID())
		return
	}
	for {
		if err := c.conn.CancelRequest(r.Context()); err != nil {
			r.fail("%v", err)
		}
		select {
		case <-c.done:
			if harness.SQLState(c.err) != "57014" {
				r.fail("%s got %q, %v instead of having been cancelled", c.kind.sql, c.text, c.err)
			}
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}
