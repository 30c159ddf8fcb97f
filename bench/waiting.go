package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/bench/internal/rig"
)

const (
	waitingName    = "waiting"
	waitingSamples = 300                   // messages whose way is timed
	waitingPause   = 10 * time.Millisecond // between two of them: by then the call waits again
	manyWaiting    = 1000
	waitingRate    = 2000 // posts a second to one queue
	waitingWindow  = 10 * time.Second
	idleSettle     = 30 * time.Second // by then housekeeping has done what there was to do
	quietWindow    = time.Minute      // in which each proxy's housekeeping looks at an idle database once
	countsSettle   = 11 * time.Second // sessions tell of their transactions once a second, and of the last ones ten seconds later
)

// waitingResult is what calls that wait get and cost.
type waitingResult struct {
	same, across []time.Duration // from the commit of a post to the row at a call that waits: at the same proxy, at another
	beside       []time.Duration // at the same proxy, while manyWaiting calls wait on as many other queues
	waits, idle  quiet           // manyWaiting sessions with calls that wait on as many queues, and as many that do not, nothing happening
	posted, got  int64           // with manyWaiting calls that wait on one queue
	queries      float64         // transactions for each message got, without those of the posts
	pooled       pooledResult
	err          error
}

// quiet is what sessions cost while nothing happens: processor time in cpuWindow, transactions in quietWindow.
type quiet struct {
	proxyCPU  time.Duration
	serverCPU time.Duration // of the proxy's own sessions
	queries   float64       // transactions a second of the whole server, without autovacuum
}

// share is the share of a processor.
func (q quiet) share() float64 { return (q.proxyCPU + q.serverCPU).Seconds() / cpuWindow.Seconds() }

// waiting measures calls that wait, on a stack of its own with two proxies.
func (b *bench) waiting(ctx context.Context, dir string, r *report) (err error) {
	if !b.wanted(waitingName) {
		return nil
	}
	fmt.Fprintf(b.say, "%-28s", waitingName)
	defer fmt.Fprintln(b.say)
	dir = filepath.Join(dir, waitingName)
	b.stack, err = rig.Start(ctx, b.tools, rig.Options{Dir: dir, Databases: databases, Connections: 2*manyWaiting + 100})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stack.Stop()) }()
	other, err := b.stack.AnotherProxy(ctx, b.tools, dir)
	if err != nil {
		return err
	}
	r.waiting = &waitingResult{}
	r.waiting.err = b.measureWaiting(ctx, other, r.waiting)
	if r.waiting.err == nil {
		r.waiting.err = b.pooledWaits(ctx, dir, &r.waiting.pooled)
	}
	if r.waiting.err != nil {
		fmt.Fprintf(b.say, " FAILED: %v", r.waiting.err)
		return ctx.Err()
	}
	fmt.Fprintf(b.say, "  %v, %v", rig.Percentile(r.waiting.same, 0.5), rig.Percentile(r.waiting.across, 0.5))
	return nil
}

func (b *bench) measureWaiting(ctx context.Context, other rig.Path, r *waitingResult) (err error) {
	p := b.stack.Proxy
	if _, err := rig.Exec(ctx, p.DSN(), "select mbus4.create_queue('w0', 1)"); err != nil {
		return err
	}
	if r.same, err = timeWaits(ctx, p, p, "w0"); err != nil {
		return err
	}
	if r.across, err = timeWaits(ctx, p, other, "w0"); err != nil {
		return err
	}
	// After the times, for housekeeping is busy with the consumers of so many queues for a while.
	if _, err := rig.Exec(ctx, p.DSN(), fmt.Sprintf("select mbus4.create_queue('w' || n, 1) from generate_series(1, %d) n", manyWaiting)); err != nil {
		return err
	}
	if err := b.idleWaits(ctx, r); err != nil {
		return err
	}
	return b.crowd(ctx, r)
}

// timeWaits times messages from the commit of a post through one proxy to the row at a call that waits at the other.
func timeWaits(ctx context.Context, from, to rig.Path, queue string) (times []time.Duration, err error) {
	poster, err := pgconn.Connect(ctx, from.DSN())
	if err != nil {
		return nil, fmt.Errorf("timing waits: %w", err)
	}
	defer rig.CloseConn(poster)
	waiter, err := pgconn.Connect(ctx, to.DSN())
	if err != nil {
		return nil, fmt.Errorf("timing waits: %w", err)
	}
	defer rig.CloseConn(waiter)
	type row struct {
		at  time.Time
		err error
	}
	rows := make(chan row)
	go func() {
		for range waitingSamples {
			_, err := rig.Query(ctx, waiter, "select iid from mbus4.consume('"+queue+"', wait => '1min')")
			rows <- row{time.Now(), err}
		}
	}()
	for i := range waitingSamples {
		pause := waitingPause
		if i == 0 {
			pause = 2 * time.Second // by then the proxies know of each other
		}
		if err := rig.Rest(ctx, pause); err != nil {
			return nil, err
		}
		if _, err := rig.Query(ctx, poster, "select mbus4.post('"+queue+"', 'a=>1')"); err != nil {
			return nil, err
		}
		committed := time.Now()
		got := <-rows
		if got.err != nil {
			return nil, got.err
		}
		times = append(times, max(0, got.at.Sub(committed)))
	}
	return times, nil
}

// crew are sessions that wait again and again until they get an error, and count what they get.
type crew struct {
	conns []*pgconn.PgConn
	got   atomic.Int64
	done  sync.WaitGroup
}

// connectCrew opens sessions, which do not wait yet.
func connectCrew(ctx context.Context, p rig.Path, n int) (*crew, error) {
	c := &crew{}
	for i := range n {
		conn, err := pgconn.Connect(ctx, p.DSN())
		if err != nil {
			c.stop()
			return nil, fmt.Errorf("opening session %d: %w", i+1, err)
		}
		c.conns = append(c.conns, conn)
	}
	return c, nil
}

// start has all of them wait.
func (c *crew) start(ctx context.Context, queue func(i int) string) {
	for i, conn := range c.conns {
		text := fmt.Sprintf("select iid from mbus4.consume('%s', wait => '1h')", queue(i))
		c.done.Go(func() {
			for {
				iid, err := rig.Query(ctx, conn, text)
				if err != nil {
					return // stop has closed it
				}
				if iid != "" {
					c.got.Add(1)
				}
			}
		})
	}
}

// await waits until they have got so many, or for a minute.
func (c *crew) await(ctx context.Context, n int64) error {
	for deadline := time.Now().Add(time.Minute); c.got.Load() < n && time.Now().Before(deadline); {
		if err := rig.Rest(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// stop closes the sessions and waits until their calls have ended. It may be called more than once.
func (c *crew) stop() {
	for _, conn := range c.conns {
		_ = conn.Conn().Close()
	}
	c.done.Wait()
}

// transactions are those that the server has ended in the database, as far as it has counted them.
func (b *bench) transactions(ctx context.Context) (int64, error) {
	if err := rig.Rest(ctx, countsSettle); err != nil {
		return 0, err
	}
	return rig.Count(ctx, b.stack.Direct.DSN(), "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()")
}

// ownCPU is the processor time of the proxy's own sessions that run now.
func (b *bench) ownCPU(ctx context.Context) (sum time.Duration, err error) {
	pids, err := rig.Exec(ctx, b.stack.Direct.DSN(), "select pid from pg_stat_activity where application_name like 'mbusproxy%' order by pid")
	if err != nil {
		return 0, err
	}
	for _, pid := range strings.Fields(pids) {
		n, err := strconv.Atoi(pid)
		if err != nil {
			return 0, fmt.Errorf("reading pids: %w", err)
		}
		used, err := rig.CPUTime(n)
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}

// idleWaits measures what calls that wait cost while nothing happens, and what as many sessions cost that do not.
func (b *bench) idleWaits(ctx context.Context, r *waitingResult) (err error) {
	if err := b.autovacuum(ctx, "off"); err != nil { // which comes once a minute, for whatever has happened before
		return err
	}
	defer func() { err = errors.Join(err, b.autovacuum(ctx, "on")) }()
	c, err := connectCrew(ctx, b.stack.Proxy, manyWaiting)
	if err != nil {
		return err
	}
	defer c.stop()
	c.start(ctx, func(i int) string { return fmt.Sprint("w", i) })
	if r.waits, err = b.quiet(ctx); err != nil {
		return err
	}
	if r.beside, err = timeWaits(ctx, b.stack.Proxy, b.stack.Proxy, fmt.Sprint("w", manyWaiting)); err != nil {
		return err
	}
	same, err := connectCrew(ctx, b.stack.Proxy, manyWaiting)
	if err != nil {
		return err
	}
	defer same.stop()
	c.stop()
	r.idle, err = b.quiet(ctx)
	return err
}

// autovacuum turns it on or off for the whole server.
func (b *bench) autovacuum(ctx context.Context, to string) error {
	for _, sql := range []string{"alter system set autovacuum = " + to, "select pg_reload_conf()"} {
		if _, err := rig.Exec(ctx, b.stack.Direct.DSN(), sql); err != nil {
			return err
		}
	}
	return nil
}

// quiet measures what the sessions cost, once housekeeping rests.
func (b *bench) quiet(ctx context.Context) (q quiet, err error) {
	if err := rig.Rest(ctx, idleSettle); err != nil {
		return q, err
	}
	before, err := b.transactions(ctx)
	if err != nil {
		return q, err
	}
	began := time.Now()
	server, err := b.ownCPU(ctx)
	if err != nil {
		return q, err
	}
	if err := b.cpuOf(ctx, true, &q.proxyCPU); err != nil {
		return q, err
	}
	after, err := b.ownCPU(ctx)
	if err != nil {
		return q, err
	}
	q.serverCPU = after - server
	if err := rig.Rest(ctx, quietWindow-time.Since(began)); err != nil {
		return q, err
	}
	n, err := b.transactions(ctx)
	const ours = 3 // of the measurement: twice ownCPU, and the count before
	q.queries = float64(n-before-ours) / time.Since(began).Seconds()
	return q, err
}

// crowd has many calls wait on one queue while messages are posted at a fixed rate.
func (b *bench) crowd(ctx context.Context, r *waitingResult) error {
	c, err := connectCrew(ctx, b.stack.Proxy, manyWaiting)
	if err != nil {
		return err
	}
	defer c.stop()
	c.start(ctx, func(int) string { return "w0" })
	// Each session gets some first: what a session has to find out once is not what a message costs.
	const first = 3 * manyWaiting
	for range 3 {
		if _, err := rig.Exec(ctx, b.stack.Proxy.DSN(), fmt.Sprintf("select count(mbus4.post('w0', 'a=>1')) from generate_series(1, %d)", manyWaiting)); err != nil {
			return err
		}
		if err := rig.Rest(ctx, settleTime); err != nil {
			return err
		}
	}
	if err := c.await(ctx, first); err != nil {
		return err
	}
	before, err := b.transactions(ctx)
	if err != nil {
		return err
	}
	poster, err := pgconn.Connect(ctx, b.stack.Proxy.DSN())
	if err != nil {
		return fmt.Errorf("posting: %w", err)
	}
	defer rig.CloseConn(poster)
	// Ten a commit: one client posts no 2,000 a second one by one.
	const each = 10
	posts, tick := int64(0), time.NewTicker(time.Second*each/waitingRate)
	defer tick.Stop()
	for end := time.Now().Add(waitingWindow); time.Now().Before(end); <-tick.C {
		if _, err := rig.Query(ctx, poster, fmt.Sprintf("select count(mbus4.post('w0', 'a=>1')) from generate_series(1, %d)", each)); err != nil {
			return err
		}
		posts++
	}
	r.posted = posts * each
	if err := c.await(ctx, first+r.posted); err != nil {
		return err
	}
	r.got = c.got.Load() - first
	// The calls end before their transactions are counted: one that has waited behind others for
	// ten seconds looks for itself, once, and while messages come none waits for so long. The end
	// of each is a transaction, too.
	c.stop()
	after, err := b.transactions(ctx)
	if err != nil {
		return err
	}
	if r.got != r.posted {
		return fmt.Errorf("INVALID: %d messages posted, %d got", r.posted, r.got)
	}
	r.queries = float64(after-before-posts-manyWaiting) / float64(r.got)
	return nil
}

func (r *report) waitingTargets() []rig.Target {
	wanted := []rig.Target{
		{What: "commit of a post to the row at a call that waits, same proxy, p50, p99", Wanted: "at most 1 ms, 5 ms"},
		{What: "the same through two proxies", Wanted: "at most 3 ms, 15 ms"},
		{What: "1,000 calls that wait on 1,000 queues, nothing happening: processor, transactions of the server, beyond as many sessions that do not", Wanted: "at most 1 % of a core, 2 a second"},
		{What: "1,000 calls that wait on one queue, 2,000 posts a second: transactions for each message", Wanted: "at most 1.2"},
		{What: "commit of a post to the row, same proxy, beside 1,000 calls that wait on as many other queues", Wanted: "at most 1 ms, 5 ms"},
		{What: "10,000 calls that wait through pgbouncer in transaction mode, 20 server connections: memory of the proxy", Wanted: "at most 128 MiB"},
	}
	w := r.waiting
	for i := range wanted {
		wanted[i].Figure, wanted[i].State = "-", "not measured"
		if w != nil && w.err != nil {
			wanted[i].State = "**INVALID**"
		}
	}
	if w == nil || w.err != nil {
		return wanted
	}
	say := func(i int, ok bool, format string, args ...any) {
		wanted[i].Figure, wanted[i].State = fmt.Sprintf(format, args...), rig.Verdict(ok)
	}
	for _, of := range []struct {
		i         int
		times     []time.Duration
		p50, most time.Duration
	}{{0, w.same, time.Millisecond, 5 * time.Millisecond}, {1, w.across, 3 * time.Millisecond, 15 * time.Millisecond}, {4, w.beside, time.Millisecond, 5 * time.Millisecond}} {
		p50, p99 := rig.Percentile(of.times, 0.5), rig.Percentile(of.times, 0.99)
		say(of.i, p50 <= of.p50 && p99 <= of.most, "%s, %s", rig.Tenths(p50), rig.Tenths(p99))
	}
	share, queries := w.waits.share()-w.idle.share(), w.waits.queries-w.idle.queries
	say(2, share <= 0.01 && queries <= 2, "%.1f %%, %.1f (%.1f %%, %.1f without)", 100*share, queries, 100*w.idle.share(), w.idle.queries)
	say(5, w.pooled.residentKiB <= 128<<10, "%.0f MiB with %d of them, a message p50 %s, p99 %s", float64(w.pooled.residentKiB)/1024, w.pooled.calls,
		rig.Tenths(rig.Percentile(w.pooled.times, 0.5)), rig.Tenths(rig.Percentile(w.pooled.times, 0.99)))
	say(3, w.queries <= 1.2, "%.2f, of %d messages", w.queries, w.got)
	return wanted
}
