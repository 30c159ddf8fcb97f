package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"
)

const (
	tickInterval   = 200 * time.Millisecond  // between two rounds of a database in use
	idleAfter      = 1500 * time.Millisecond // without use or change: the connection is closed
	longestIdle    = time.Minute             // between two looks at a database nobody uses
	waitingIdle    = time.Second             // the same where messages wait for others
	firstBackoff   = 500 * time.Millisecond  // after losing the connection, doubled up to
	longestBackoff = 30 * time.Second
	roundTimeout   = 2 * time.Minute

	slotsInterval   = time.Second // how long errors of a new consumer's selector may go uncounted
	collectInterval = time.Minute

	// serviceLockWait is how long a service waits for a lock. It is well below the server's deadlock_timeout
	// (1 s unless set otherwise): should a service and a client's DDL wait for one another, it is the service
	// that gives up, before the server looks for somebody to fail.
	serviceLockWait = 400 * time.Millisecond
	// callLockWait is the same for what is done on behalf of a call, which would fail with it.
	callLockWait = 2 * time.Second
)

// errGone reports that a database is not, or no longer, the one that was opened.
var errGone = errors.New("database is gone")

// keeper runs the services of one database over one connection, which it holds while the database
// is in use and closes soon after: an open connection keeps others from dropping the database.
// (DROP DATABASE itself waits up to 5 s for connections to go, which is enough.) An idle database
// gets a look now and then, at growing intervals, for what came to pass without our being told:
// prepared statements are executed without the engine being asked.
type keeper struct {
	engine    *Engine
	name      string
	installed installation
	hinter    *Hinter
	sweeper   *Sweeper
	releaser  *Releaser
	selectors *Selectors
	granting  *granting
	log       *zap.Logger

	wake  chan struct{} // capacity 1: somebody asked for the database
	ended chan struct{} // closed by end
	once  sync.Once

	ordered   atomic.Bool // messages wait for others, or did; see Database.Ordered
	selective atomic.Bool // selectors are in use, or were; see Database.Selective

	mu      sync.Mutex
	state   keeperState
	changed chan struct{} // closed and replaced whenever state changes

	// The rest belongs to run.
	conn        *pgx.Conn // nil unless connected
	usedAt      time.Time // last use or change seen
	activity    activity
	nextHint    time.Time
	nextRelease time.Time
	nextReap    time.Time
	nextSweep   time.Time
	nextSlots   time.Time
	nextCollect time.Time
	waiting     bool      // messages wait for others: they may become deliverable without any sign
	temporary   bool      // there are temporary queues: their sessions may end without any sign
	heldTold    time.Time // when the log was last told of a lock
}

// keeperState says what is known of the database. Legal: any to connected or failing, connected to
// idle.
type keeperState int

const (
	keeperConnected keeperState = iota // the database is the one that was opened
	keeperIdle                         // it may have been dropped and made again since
	keeperFailing                      // we cannot tell: no connection to be had
)

func (s keeperState) String() string {
	return [...]string{"connected", "idle", "failing"}[s]
}

// activity changes when the database is used. The counters of pg_stat lag by about a second.
type activity struct {
	lastID, rows int64
	semaphores   bool // there are some
}

func newKeeper(e *Engine, name string, in installation, conn *pgx.Conn) *keeper {
	k := &keeper{
		engine:    e,
		name:      name,
		installed: in,
		hinter:    NewHinter(),
		sweeper:   NewSweeper(),
		releaser:  NewReleaser(),
		selectors: NewSelectors(),
		log:       e.log.With(zap.String("database", name)),
		wake:      make(chan struct{}, 1),
		ended:     make(chan struct{}),
		changed:   make(chan struct{}),
		conn:      conn,
	}
	k.granting = newGranting(k)
	return k
}

// end makes run return. It does not wait, and may be called more than once.
func (k *keeper) end() { k.once.Do(func() { close(k.ended) }) }

// verify returns nil when the database is still the one that was opened, or when that cannot be
// told (then the caller's own session will find out), and errGone when it is not.
func (k *keeper) verify(ctx context.Context) error {
	for {
		k.mu.Lock()
		state, changed := k.state, k.changed
		k.mu.Unlock()
		select {
		case k.wake <- struct{}{}:
		default:
		}
		select {
		case <-k.ended:
			return errGone
		default:
		}
		if state != keeperIdle {
			return nil
		}
		select {
		case <-changed:
		case <-k.ended:
			return errGone
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (k *keeper) setState(s keeperState) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state == s {
		return
	}
	k.state = s
	close(k.changed)
	k.changed = make(chan struct{})
}

// run keeps the database until ctx ends, end is called or the database is gone. It begins with the
// connection newKeeper got.
func (k *keeper) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	k.engine.running.Go(func() {
		select {
		case <-k.ended:
			cancel()
		case <-ctx.Done():
		}
	})
	k.engine.running.Go(func() { k.granting.run(ctx) })
	defer k.end()
	defer k.disconnect(ctx)

	k.usedAt = time.Now()
	err := settle(ctx, k.conn)
	idle, backoff := k.engine.sweep, firstBackoff
	for {
		if err == nil {
			err = k.serve(ctx, &idle)
			backoff = firstBackoff
		}
		k.disconnect(ctx)
		pause := idle
		switch {
		case ctx.Err() != nil || errors.Is(err, errGone):
			return
		case err != nil:
			k.log.Warn("housekeeping interrupted", zap.Error(err), zap.Duration("again in", backoff))
			k.setState(keeperFailing)
			pause, backoff = backoff, min(2*backoff, longestBackoff)
		default:
			k.setState(keeperIdle)
			if k.waiting || k.temporary {
				pause = min(pause, waitingIdle)
			}
			idle = min(2*idle, max(longestIdle, k.engine.sweep))
		}
		if !k.sleep(ctx, pause, err == nil) {
			return
		}
		err = k.reconnect(ctx)
	}
}

// serve runs rounds on the open connection until the database has been idle for a while.
func (k *keeper) serve(ctx context.Context, idle *time.Duration) error {
	for {
		if err := k.round(ctx); err != nil {
			return err
		}
		if time.Since(k.usedAt) >= idleAfter {
			return nil
		}
		*idle = k.engine.sweep
		if err := k.listen(ctx, tickInterval); err != nil {
			return err
		}
	}
}

// sleep waits with no connection; a wake-up ends it early where that is wanted. False: ctx ended.
func (k *keeper) sleep(ctx context.Context, d time.Duration, wakeable bool) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	wake := k.wake
	if !wakeable {
		wake = nil
	}
	select {
	case <-wake:
		k.usedAt = time.Now()
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// listen lets d pass on the open connection, noticing at once when the server ends it.
func (k *keeper) listen(ctx context.Context, d time.Duration) error {
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for {
		_, err := k.conn.WaitForNotification(wait)
		switch {
		case err == nil: // not for us: we LISTEN to nothing
		case wait.Err() != nil && !k.conn.IsClosed():
			return ctx.Err()
		default:
			return fmt.Errorf("waiting for the next round: %w", err)
		}
	}
}

// reconnect opens the connection again and makes sure that the database is the same.
func (k *keeper) reconnect(ctx context.Context) error {
	conn, err := k.dial(ctx)
	if err != nil {
		return err
	}
	k.conn = conn
	k.setState(keeperConnected)
	return nil
}

// dial opens a connection for services and makes sure that the database is the one that was opened.
func (k *keeper) dial(ctx context.Context) (*pgx.Conn, error) {
	conn, err := k.engine.connect(ctx, k.name)
	if err != nil {
		if sqlState(err) == codeInvalidCatalog {
			return nil, errGone
		}
		return nil, err
	}
	in, err := identify(ctx, conn)
	if err == nil && (in.oid != k.installed.oid || in.version != k.installed.version || in.hstoreSchema != k.installed.hstoreSchema) {
		err = errGone
	}
	if err == nil {
		err = settle(ctx, conn)
	}
	if err != nil {
		closeQuietly(ctx, conn)
		return nil, err
	}
	return conn, nil
}

func (k *keeper) disconnect(ctx context.Context) {
	if k.conn != nil {
		closeQuietly(ctx, k.conn)
		k.conn = nil
	}
}

// settle prepares a session for housekeeping.
func settle(ctx context.Context, conn *pgx.Conn) error {
	return settleWaiting(ctx, conn, serviceLockWait)
}

// settleWaiting prepares a session of the engine's: whatever is set for the role or the database, the queries
// must see what is committed, use the indexes and not wait for a standby, nor for longer than lockWait for a lock.
func settleWaiting(ctx context.Context, conn *pgx.Conn, lockWait time.Duration) error {
	_, err := conn.PgConn().Exec(ctx, fmt.Sprintf(`
		set search_path = pg_catalog;
		set timezone = 'UTC';
		set datestyle = 'ISO';
		set default_transaction_isolation = 'read committed';
		set synchronous_commit = off;
		set lock_timeout = %d;
		set statement_timeout = '60s';
		set enable_seqscan = off;
		set enable_bitmapscan = off;
		set jit = off;
		set max_parallel_workers_per_gather = 0`, lockWait.Milliseconds())).ReadAll()
	if err != nil {
		return fmt.Errorf("setting up the session: %w", err)
	}
	return nil
}
