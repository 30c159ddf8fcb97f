package waiting

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/service"
	"mbusproxy/engine/schema"
)

const (
	// DefaultSweep is the time between two looks for what was committed without the proxy's knowing.
	DefaultSweep = time.Second

	idleAfter      = 3 * time.Second // without anybody waiting: the connection is closed
	firstBackoff   = 100 * time.Millisecond
	longestBackoff = 2 * time.Second
	lookTimeout    = time.Minute
	longestDelay   = 24 * time.Hour         // that is waited for at once
	clockMargin    = 500 * time.Millisecond // by which the server's clock may be off without a look
	leastRest      = time.Millisecond
	longestRest    = 100 * time.Millisecond // after a look at many lines
	soonRest       = 2 * time.Millisecond   // after a post that has woken the first of each line: by then he has locked what he takes, and is out of the count
	crowdRest      = 10 * time.Millisecond  // after a look, where each post wakes the first of each line
	laterRest      = 20 * time.Millisecond  // after a look, where what has ended has given something back at most
	channel        = "mbus4_waiting"

	// waitingName is the application_name of the session of a Watcher for which somebody waits: so
	// others know that it wants to be told.
	waitingName = "mbusproxy waiting"
)

// othersSQL asks whether another proxy wants to be told when a transaction has ended; $1 is the
// session of this one's Watcher. Whoever asks may be another session of this proxy.
const othersSQL = `select exists (
	select from pg_catalog.pg_stat_get_activity(null) a
	where a.application_name = '` + waitingName + `' and a.pid <> $1
	  and a.usesysid = (select r.oid from pg_catalog.pg_roles r where r.rolname = session_user)
	  and a.datid = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
)`

// sweepSQL reads which transactions have ended, the time, and whether there are triggers.
const sweepSQL = `select pg_catalog.pg_current_snapshot()::text, pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()),
	exists (select from mbus4.consumer c where c.target is not null)`

// Watcher is the service that looks for all who wait in a database, with one query for all of them:
// when a transaction of this proxy has ended that may have made something deliverable, when another
// proxy tells of one, when a delay ends, and at each sweep unless no transaction of anybody's has
// ended since the last one.
type Watcher struct {
	Lines     *Lines
	server    *admin.Server
	installed schema.Installation
	features  *schema.Features
	look      Looks
	sweep     time.Duration
	service   *service.Service
	log       *zap.Logger
	bell      service.Bell
	// Health is how it fares.
	Health service.Health

	pid    atomic.Int32  // of the server's process for the session that watches; 0: there is none
	others atomic.Bool   // another proxy wants to be told
	ended  atomic.Uint64 // the Queues of transactions that have ended of which none has been told
	busy   atomic.Bool   // one has ended since it was asked whether others want to be told
}

// Looks are the statements by which a Watcher looks.
type Looks struct {
	Any string // for those who wait for messages of a consumer: calls.Texts.Look
	One string // for those who wait for one message: calls.Texts.LookForMessages
}

// NewWatcher makes a Watcher for a database that was prepared.
func NewWatcher(server *admin.Server, in schema.Installation, features *schema.Features, look Looks, sweep time.Duration, log *zap.Logger) *Watcher {
	if sweep <= 0 {
		sweep = DefaultSweep
	}
	w := &Watcher{server: server, installed: in, features: features, look: look, sweep: sweep, service: service.New(), log: log}
	w.Lines = NewLines(w.bell.Ring)
	return w
}

// Start begins to watch. It does so once; further calls, and calls after Stop, do nothing.
func (w *Watcher) Start() { w.service.Start(w.run) }

// Stop ends watching and waits until it has ended. It may be called more than once, and without Start.
func (w *Watcher) Stop() { w.service.Stop() }

// Done is closed when watching has ended: by Stop, or because the database is gone.
func (w *Watcher) Done() <-chan struct{} { return w.service.Done() }

// Note tells that a transaction has ended that may have made something deliverable in those queues,
// posted that it has called functions that post. It does not wait.
func (w *Watcher) Note(queues Queues, posted bool) {
	if queues = w.spread(queues); queues == 0 {
		return
	}
	w.Lines.Signal(queues, posted)
	if !w.busy.Load() {
		w.busy.Store(true)
	}
	if w.others.Load() && w.ended.Or(uint64(queues)) == 0 {
		w.bell.Ring()
	}
}

// spread are the queues in which a change in those may make something deliverable: a trigger copies
// what is posted, and what is consumed lets go what waits for it.
func (w *Watcher) spread(queues Queues) Queues {
	if queues != 0 && (w.features.Triggers() || w.features.Ordered()) {
		return AnyQueue
	}
	return queues
}

// Awaited reports whether it matters which queues Note is told of: somebody waits, here or at another proxy.
func (w *Watcher) Awaited() bool { return w.others.Load() || w.Lines.Waiting() > 0 }

// ObserveOthers finds out whether another proxy wants to be told, if there has been anything to
// tell since it was asked last.
func (w *Watcher) ObserveOthers(ctx context.Context, conn *pgx.Conn) error {
	if !w.busy.Swap(false) {
		return nil
	}
	var others bool
	if err := conn.QueryRow(ctx, othersSQL, w.pid.Load()).Scan(&others); err != nil {
		return fmt.Errorf("looking for calls that wait at other proxies: %w", err)
	}
	w.others.Store(others)
	return nil
}

// wanted reports whether there is something to do.
func (w *Watcher) wanted() bool {
	return w.Lines.Waiting() > 0 || w.others.Load() && w.ended.Load() != 0
}

func (w *Watcher) run(ctx context.Context) {
	backoff := firstBackoff
	for ctx.Err() == nil {
		if !w.wanted() {
			w.bell.Wait(ctx, time.Hour)
			continue
		}
		worked, err := w.session(ctx)
		if worked {
			backoff = firstBackoff
		}
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, schema.ErrGone):
			w.Lines.wakeAll()
			return
		case err != nil:
			w.Health.Failed(err)
			w.log.Warn("watching for those who wait interrupted", zap.Error(err), zap.Duration("again in", backoff))
			w.Lines.wakeAll() // they look for themselves
			service.Sleep(ctx, backoff)
			backoff = min(2*backoff, longestBackoff)
		}
	}
}

// session watches over one connection until nobody has waited for a while. worked: it has looked.
func (w *Watcher) session(ctx context.Context) (worked bool, err error) {
	conn, err := w.installed.Dial(ctx, w.server)
	if err != nil {
		return false, err
	}
	defer admin.Close(ctx, conn)
	if err := settle(ctx, conn); err != nil {
		return false, err
	}
	w.pid.Store(int32(conn.PgConn().PID()))
	defer w.pid.Store(0)
	s := &watching{conn: conn, told: AnyQueue, began: time.Now()} // what has changed before is seen by the first look
	for last := time.Now(); ; {
		if w.wanted() {
			last = time.Now()
		}
		if time.Since(last) > idleAfter {
			return worked, nil
		}
		if err := w.tellOthers(ctx, s); err != nil {
			return worked, err
		}
		w.listen(s)
		service.Sleep(ctx, time.Until(s.restsTo))
		if err := w.turn(ctx, s); err != nil {
			return worked, err
		}
		worked = true
		w.Health.Worked()
		if err := w.await(ctx, s); err != nil {
			return worked, err
		}
	}
}

// await waits until it is worth while to look, or to tell others.
func (w *Watcher) await(ctx context.Context, s *watching) error {
	for {
		how, since, delayEnds := w.Lines.pending()
		if w.listen(s); s.told != 0 || how == lookNow {
			return nil
		}
		next := s.sweepAt
		sooner := func(at time.Time) {
			if at.Before(next) {
				next = at
			}
		}
		if !delayEnds.IsZero() {
			sooner(delayEnds)
		}
		switch how {
		case lookSoon:
			sooner(latest(since.Add(soonRest), s.restsTo.Add(crowdRest)))
		case lookLater:
			sooner(s.restsTo.Add(laterRest))
		}
		rest := time.Until(next)
		if rest <= 0 || how != lookNever && w.ended.Load() != 0 && w.others.Load() {
			return nil
		}
		if _, err := w.bell.Listen(ctx, s.conn, max(time.Millisecond, rest)); err != nil {
			return fmt.Errorf("waiting for changes: %w", err)
		}
		if how != lookNever {
			continue
		}
		if how, _, _ := w.Lines.pending(); how == lookNever || how == lookNow {
			return nil
		}
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// watching is what a session knows.
type watching struct {
	conn     *pgx.Conn
	sweepAt  time.Time // when the next sweep is due
	named    bool      // the session bears waitingName
	restsTo  time.Time // no look before: it rests as long as the last one took
	snapshot string    // which transactions had ended at the last sweep
	began    time.Time
	clock    time.Duration // the server's clock at the last look at all lines, beyond the time since began
	told     Queues        // another proxy has told of changes in these
}

// listen takes what other proxies have told.
func (w *Watcher) listen(s *watching) {
	for _, payload := range admin.Told(s.conn) {
		s.told |= w.spread(queuesOfPayload(payload))
	}
}

// turn looks, where it is worth while.
func (w *Watcher) turn(ctx context.Context, s *watching) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	began := time.Now()
	all := s.told == AnyQueue
	if !began.Before(s.sweepAt) {
		s.sweepAt = began.Add(w.sweep)
		before, seconds, triggers := s.snapshot, 0.0, false
		if err := s.conn.QueryRow(ctx, sweepSQL).Scan(&s.snapshot, &seconds, &triggers); err != nil {
			return gone(err)
		}
		if triggers {
			w.features.NoteTriggers()
		}
		clock := time.Duration(seconds*float64(time.Second)) - time.Since(s.began)
		wasSet := (clock - s.clock).Abs() > clockMargin // then delays end sooner, or later, than was told
		if err := w.ObserveOthers(ctx, s.conn); err != nil {
			return gone(err)
		}
		if all = all || s.snapshot != before || wasSet; all {
			s.clock = clock
		}
		w.Lines.sweep()
	}
	if !all {
		w.Lines.told(s.told)
		w.Lines.due(began)
	}
	s.told = 0
	asked := w.Lines.ask(all)
	if len(asked) == 0 {
		return nil
	}
	slices.SortFunc(asked, func(a, b wanted) int { return strings.Compare(a.key.Message, b.key.Message) })
	one := slices.IndexFunc(asked, func(a wanted) bool { return a.key.Message != "" })
	if one < 0 {
		one = len(asked)
	}
	err := lookFor(ctx, w, s, w.look.Any, asked[:one], func(a wanted) int { return a.n })
	if err == nil {
		err = lookFor(ctx, w, s, w.look.One, asked[one:], func(a wanted) string { return a.key.Message })
	}
	now := time.Now()
	s.restsTo = now.Add(min(max(now.Sub(began), leastRest), longestRest))
	return gone(err)
}

// lookFor asks one of the two statements for lines, and tells of what there is. third is what it is
// given of each beside queue and consumer.
func lookFor[T any](ctx context.Context, w *Watcher, s *watching, sql string, asked []wanted, third func(wanted) T) error {
	if len(asked) == 0 {
		return nil
	}
	queues, consumers, thirds := make([]string, len(asked)), make([]string, len(asked)), make([]T, len(asked))
	for i, a := range asked {
		queues[i], consumers[i], thirds[i] = a.key.Queue, a.key.Consumer, third(a)
	}
	rows, err := s.conn.Query(ctx, sql, queues, consumers, thirds)
	if err != nil {
		return err //nolint:wrapcheck // by turn's caller
	}
	var i int
	var f found
	var next *float64
	_, err = pgx.ForEachRow(rows, []any{&i, &f.gone, &f.ready, &next}, func() error {
		f.delayEnds = time.Time{}
		if next != nil {
			f.delayEnds = time.Now().Add(time.Duration(math.Min(*next, longestDelay.Seconds())*float64(time.Second)) + time.Millisecond)
		}
		w.Lines.tell(asked[i-1].key, f)
		return nil
	})
	return err //nolint:wrapcheck // by turn's caller
}

// tellOthers tells other proxies of transactions that have ended, and whether somebody waits here.
func (w *Watcher) tellOthers(ctx context.Context, s *watching) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if q := Queues(w.ended.Swap(0)); q != 0 && w.others.Load() {
		if _, err := s.conn.Exec(ctx, "select pg_catalog.pg_notify($1, $2)", channel, q.payload()); err != nil {
			return fmt.Errorf("telling other proxies: %w", gone(err))
		}
	}
	if waits := w.Lines.Waiting() > 0; waits && !s.named {
		s.named = true
		if _, err := s.conn.Exec(ctx, "set application_name = '"+waitingName+"'"); err != nil {
			return fmt.Errorf("waiting for what other proxies tell: %w", gone(err))
		}
	} else if s.named && !waits && time.Now().After(s.sweepAt) {
		s.named = false
		if _, err := s.conn.Exec(ctx, "reset application_name"); err != nil {
			return fmt.Errorf("waiting no more for what other proxies tell: %w", gone(err))
		}
	}
	return nil
}

func gone(err error) error {
	if err != nil && schema.Dropped(err) {
		return schema.ErrGone
	}
	return err
}

// settle prepares the session further: its statement has one plan.
func settle(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.PgConn().Exec(ctx, `
		set plan_cache_mode = force_generic_plan;
		set enable_seqscan = off;
		set enable_bitmapscan = off;
		set jit = off;
		listen `+channel).ReadAll()
	if err != nil {
		return fmt.Errorf("setting up the session that watches: %w", err)
	}
	return nil
}
