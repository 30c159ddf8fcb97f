package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/wiretest"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

const (
	modelLeasers = 5
	modelPosters = 2
	// modelWait is how long calls of this test wait: longer than the test has patience for any of them.
	modelWait = "60s"
)

// Workers that wait, lease, settle, give up, come late and die, all at once through two proxies,
// while others post, pause and redrive, and a schedule posts by the clock. Each writes down what it
// has done in the transaction in which it did it, by the server's clock, and in the end the books
// must balance: each message is settled once, and nobody got one while another held it. No call
// that waits is left without an answer while there is something for it.
func TestModelWorkers(t *testing.T) {
	t.Parallel()
	limit, seed := wiretest.Settings(t, "MBUS_MODEL", 8*time.Second)
	second := harness.NewProxy(t).Endpoint
	database := harness.NewQueueDatabase(t, "wa", "wb", "tick")
	c := &modelStaff{database: database, ends: []harness.Endpoint{harness.Proxied(), second}, until: time.Now().Add(limit / 2)}
	c.play(t, harness.Connect(t, harness.Proxied(), database), limit, seed, nil)
}

// play has them work until c.until, with what disturbs them beside them, and looks at the books.
// server leads to a proxy.
func (c *modelStaff) play(t *testing.T, server *pgconn.PgConn, limit time.Duration, seed uint64, disturb func()) {
	t.Helper()
	for _, queue := range modelWorkQueues {
		harness.Ask(t, server, "select mbus4.alter_consumer($1, max_attempts => 4, backoff => '20 ms', max_backoff => '100 ms', lease => '300 ms')", queue)
	}
	harness.Ask(t, server, `create table posted (n bigint primary key, queue text);
		create table event (n bigint, kind text, lease text, at timestamptz default clock_timestamp(), until timestamptz, seq bigserial);
		create table set_back (seq bigint)`)
	harness.Ask(t, server, "select mbus4.schedule('ticks', '* * * * * *', 'tick')")
	ctx, cancel := context.WithTimeout(t.Context(), limit+2*harness.TestLimit)
	defer cancel()
	var posters, workers sync.WaitGroup
	errs := make([]error, modelPosters+modelLeasers)
	for i := range errs {
		w := &modelHand{modelStaff: c, random: rand.New(rand.NewPCG(seed, uint64(i)))}
		if i < modelPosters {
			posters.Go(func() { errs[i] = w.run(ctx, w.supply) })
		} else {
			workers.Go(func() { errs[i] = w.run(ctx, w.work) })
		}
	}
	var disturber sync.WaitGroup
	if disturb != nil {
		disturber.Go(disturb)
	}
	ended := make(chan struct{})
	go func() { workers.Wait(); close(ended) }()
	posters.Wait()
	disturber.Wait()
	// Who waits still gets something, whatever is paused or lost.
	for more := true; more; {
		for _, queue := range modelWorkQueues {
			harness.Ask(t, server, "select mbus4.resume_queue($1)", queue)
			harness.Ask(t, server, fmt.Sprintf("with p as (select mbus4.post('%s', 'n=>%d')) insert into posted select %[2]d, '%[1]s' from p", queue, c.number.Add(1)))
		}
		select {
		case <-ended:
			more = false
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("MBUS_MODEL_SEED=%d: %v", seed, err)
	}
	if longest := time.Duration(c.longest.Load()); longest > modelPatience+c.patience {
		t.Errorf("MBUS_MODEL_SEED=%d: a call waited for %v beside messages for it", seed, longest)
	}
	harness.Ask(t, server, "select mbus4.unschedule('ticks')")
	c.settle(t, server)
	for what, sql := range modelBooks {
		if got := harness.Ask(t, server, sql+" limit 20"); got != "" {
			t.Errorf("MBUS_MODEL_SEED=%d: %s:\n%s", seed, what, got)
		}
	}
	t.Logf("seed %d: %d turns, %d died, %d lost their proxy, %d waits, the longest of those answered %v; %s posted; %s", seed, c.turns.Load(), c.died.Load(), c.lost.Load(), c.waits.Load(),
		time.Duration(c.longest.Load()).Round(time.Millisecond), harness.Ask(t, server, "select count(*) from posted"),
		strings.ReplaceAll(harness.Ask(t, server, "select kind || ' ' || count(*) from event group by kind order by kind"), "\n", ", "))
}

var modelWorkQueues = []string{"wa", "wb"}

// modelBooks are what must give no rows in the end.
var modelBooks = map[string]string{
	"lost":          "select p.n from posted p where not exists (select from event e where e.n = p.n and e.kind in ('acked', 'consumed'))",
	"settled twice": "select n, count(*) from event where kind in ('acked', 'consumed') group by n having count(*) > 1",
	"of nobody":     "select n from event where kind in ('acked', 'consumed') and n not in (select n from posted)",
	"ticks twice":   "select lease, count(*) from event where kind = 'tick' group by lease having count(*) > 1",
	// What happens to one message happens in the order of seq, whatever the clock says.
	"settled, and on": "select e.n, d.kind, d.at from event e join event d on d.n = e.n and d.seq > e.seq where e.kind in ('acked', 'consumed') and d.kind <> 'redriven'",
	// A lease holds until its end, or until it is given up, extended or settled; by its name each
	// is known. What was written down while the clock was set back may have an earlier time than
	// that at which it was done.
	"delivered beside a lease": `select g.n, g.lease, g.until, d.kind, d.lease, d.at from event g
		join event d on d.n = g.n and d.seq > g.seq and d.kind in ('granted', 'consumed', 'put back') and d.lease is distinct from g.lease
		where g.kind in ('granted', 'extended') and d.at < g.until
		  and not exists (select from event e where e.n = g.n and e.seq > g.seq and e.seq < d.seq and e.kind in ('acked', 'retried', 'failed', 'extended'))
		  and not exists (select from set_back s where d.seq between s.seq and s.seq + 60)`,
	"left": "select c.qname, count(*) from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id group by c.qname",
}

// modelStaff is what they share.
type modelStaff struct {
	database           string
	ends               []harness.Endpoint
	until              time.Time
	number             atomic.Int64
	turns, died, waits atomic.Int64
	longest            atomic.Int64
	patience           time.Duration // beside modelPatience, for what disturbs them

	// crashes counts for each of ends how often its proxy was killed and is there again, so that it
	// is odd while it is not; nil: none is killed.
	crashes []atomic.Int64
	lost    atomic.Int64

	mu     sync.Mutex
	leases []modelGrant // names that were seen, and which may be lost
}

// modelGrant is the name of a lease, and its message.
type modelGrant struct{ n, lease string }

// modelHand is one of them.
type modelHand struct {
	*modelStaff
	random *rand.Rand
	conn   *pgconn.PgConn
	end    int   // conn leads there
	since  int64 // of crashes, when it was opened
}

// excused reports whether an error is that of a connection whose proxy was killed.
func (w *modelHand) excused(err error) bool {
	if w.crashes == nil || harness.SQLState(err) != "" || w.since%2 == 0 && w.crashes[w.end].Load() == w.since {
		return false
	}
	w.lost.Add(1)
	if w.conn != nil {
		harness.Close(w.conn)
		w.conn = nil
	}
	return true
}

// connect opens a connection to one of the proxies.
func (w *modelHand) connect(ctx context.Context) (err error) {
	w.end = w.random.IntN(len(w.ends))
	if w.crashes != nil {
		w.since = w.crashes[w.end].Load()
	}
	w.conn, err = pgconn.Connect(ctx, w.ends[w.end].DSN(w.database))
	if err != nil {
		w.conn = nil
		return fmt.Errorf("connecting: %w", err)
	}
	return nil
}

// run does one thing after another.
func (w *modelHand) run(ctx context.Context, turn func(context.Context) error) error {
	defer func() {
		if w.conn != nil {
			harness.Close(w.conn)
		}
	}()
	for time.Now().Before(w.until) {
		if w.conn == nil {
			if err := w.connect(ctx); err != nil && w.excused(err) {
				<-time.After(20 * time.Millisecond)
				continue
			} else if err != nil {
				return err
			}
		}
		if err := turn(ctx); err != nil {
			if w.excused(err) {
				continue
			}
			return fmt.Errorf("%s: %w", harness.Describe(err), err)
		}
		w.turns.Add(1)
	}
	return nil
}

func (w *modelHand) chance(percent int) bool { return w.random.IntN(100) < percent }

// do runs one statement in any form.
func (w *modelHand) do(ctx context.Context, sql string, args ...any) (string, error) {
	f := forms.All()[w.random.IntN(len(forms.All()))]
	text, err := f.Run(ctx, w.conn, forms.Do(sql, args...))
	if err != nil {
		return "", fmt.Errorf("%s %v: %w", sql, args, err)
	}
	return text, nil
}

// all runs statements one after another.
func (w *modelHand) all(ctx context.Context, statements ...string) error {
	for _, sql := range statements {
		if _, err := w.do(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// dies breaks the connection, with what is open on it.
func (w *modelHand) dies() error {
	w.died.Add(1)
	conn := w.conn
	w.conn = nil
	return harness.Abort(conn)
}

func (w *modelHand) queue() string { return modelWorkQueues[w.random.IntN(len(modelWorkQueues))] }

// supply posts, at once or later, pauses for a moment, or redrives.
func (w *modelHand) supply(ctx context.Context) error {
	queue := w.queue()
	switch draw := w.random.IntN(100); {
	case draw < 4:
		if _, err := w.do(ctx, "select mbus4.pause_queue($1)", queue); err != nil {
			return err
		}
		<-time.After(time.Duration(w.random.IntN(100)) * time.Millisecond)
		_, err := w.do(ctx, "select mbus4.resume_queue($1)", queue)
		return err
	case draw < 10:
		_, err := w.do(ctx, "select mbus4.redrive($1)", queue)
		return err
	case draw < 15:
		<-time.After(time.Duration(w.random.IntN(300)) * time.Millisecond) // those who wait find nothing
		return nil
	}
	n := w.number.Add(1)
	post := fmt.Sprintf("select mbus4.post('%s', 'n=>%d')", queue, n)
	if w.chance(30) {
		post = fmt.Sprintf("select mbus4.post('%s', 'n=>%d', delayed_until => localtimestamp + interval '%d ms')", queue, n, w.random.IntN(400))
	}
	if err := w.all(ctx, "begin", post, fmt.Sprintf("insert into posted values (%d, '%s')", n, queue)); err != nil {
		return err
	}
	switch draw := w.random.IntN(100); {
	case draw < 3:
		return w.dies()
	case draw < 10:
		return w.all(ctx, "rollback")
	}
	return w.all(ctx, "commit")
}

// settle has all that is left consumed.
func (c *modelStaff) settle(t *testing.T, server *pgconn.PgConn) {
	t.Helper()
	deadline := time.Now().Add(harness.TestLimit / 2)
	for harness.Ask(t, server, "select count(*) = 0 from mbus4.message") != "t" && time.Now().Before(deadline) {
		for _, queue := range modelWorkQueues {
			harness.Ask(t, server, "select mbus4.redrive($1)", queue)
			harness.Ask(t, server, "insert into event (n, kind) select (m.data->'n')::bigint, 'consumed' from mbus4.consumen($1, amt => 100) m", queue)
		}
		harness.Ask(t, server, modelTick)
	}
}

// modelTick receives what the schedule has posted; each tick has a name.
const modelTick = "insert into event (kind, lease) select 'tick', m.headers->'scheduled_at' from mbus4.consumen('tick', amt => 10) m"
