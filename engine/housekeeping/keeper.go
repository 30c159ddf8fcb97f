package housekeeping

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/service"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
	"mbusproxy/engine/semaphore"
	"mbusproxy/engine/waiting"
	"mbusproxy/internal/socket"
)

const (
	tickInterval   = 200 * time.Millisecond  // between two rounds of a database in use
	idleAfter      = 1500 * time.Millisecond // without use or change: the connection is closed
	longestIdle    = time.Minute             // between two looks at a database nobody uses
	waitingIdle    = time.Second             // the same where messages wait for others
	firstBackoff   = 500 * time.Millisecond  // after failing to connect: at least, and where nobody asks doubled up to
	longestBackoff = 30 * time.Second
	verifyPatience = 5 * time.Second // how long who asks waits where nobody knows
	mostLosses     = 3               // of connections, each within firstBackoff of the one before: more of them are a failure
	roundTimeout   = 2 * time.Minute

	othersInterval  = time.Second // how long it may take to find out that calls wait at another proxy
	slotsInterval   = time.Second // how long errors of a new consumer's selector may go uncounted
	collectInterval = time.Minute
)

// Keeper runs the services of one database over one connection, which it holds while the database
// is in use and closes soon after: an open connection keeps others from dropping the database.
// (DROP DATABASE itself waits up to 5 s for connections to go, which is enough.) An idle database
// gets a look now and then, at growing intervals, for what happened without the engine being told:
// a prepared statement is executed without the proxy asking the engine.
type Keeper struct {
	config  Config
	service *service.Service
	// Health is how it fares.
	Health   service.Health
	hinter   *hinter
	sweeper  *sweeper
	reaper   *reaper
	releaser *releaser
	// scheduler decides with the others how long a pause may be.
	scheduler *scheduler

	wake chan struct{} // capacity 1: somebody asked for the database

	stopped sync.Once

	mu      sync.Mutex
	state   keeperState
	seen    time.Time       // when it was last certain that the database is the one that was opened
	changed chan struct{}   // closed and replaced whenever state changes
	watched syscall.RawConn // of conn, while there is one; nil where it cannot be watched

	// The rest belongs to run.
	conn       *pgx.Conn // nil unless connected
	usedAt     time.Time // last use or change seen
	activity   activity
	slice      time.Duration // of a turn
	limit      time.Duration // of statements, as conn was told; 0: of Settle
	looking    *duty
	ticking    *duty
	duties     []*duty   // the other services
	waiting    bool      // messages wait for others: they may become deliverable without any sign
	temporary  bool      // there are temporary queues: their sessions may end without any sign
	passedTold time.Time // when the log was last told of rows that are passed over
}

// keeperState says what is known of the database. Legal transitions: from any to connected, from
// connected to unseen, and from unseen to failing.
type keeperState int

const (
	keeperConnected keeperState = iota // the database is the one that was opened
	keeperUnseen                       // it may have been dropped and made again since; sessions that have begun since wait for a look
	keeperFailing                      // nobody knows: there is no connection to be had, or not enough is to be seen
)

func (s keeperState) String() string {
	return [...]string{"connected", "unseen", "failing"}[s]
}

// Config is what a keeper keeps, and how.
type Config struct {
	Server       *admin.Server
	Installation schema.Installation
	Features     *schema.Features
	Granter      *semaphore.Granter // told of what is found about semaphores; it is not the keeper's to start and stop
	Watcher      *waiting.Watcher   // told whether other proxies want to be told; the same
	Interval     time.Duration      // between two sweeps of a database in use
	Log          *zap.Logger
}

// activity changes when the database is used. The counters of pg_stat lag by about a second.
type activity struct {
	lastID, rows int64
	semaphores   bool // there are some
}

// NewKeeper makes a keeper that begins with an open session in the database, which is its own from then on.
func NewKeeper(what Config, conn *pgx.Conn) *Keeper {
	k := &Keeper{
		config:    what,
		service:   service.New(),
		hinter:    newHinter(),
		sweeper:   newSweeper(),
		reaper:    &reaper{},
		releaser:  newReleaser(),
		scheduler: newScheduler(),
		slice:     sliceOfTurn,
		wake:      make(chan struct{}, 1),
		changed:   make(chan struct{}),
		conn:      conn,
		watched:   rawConn(conn),
	}
	k.hinter.slice, k.scheduler.slice = k.slice, k.slice
	k.takeUp()
	return k
}

// Start begins to keep the database. It does so once; further calls, and calls after Stop, do nothing.
func (k *Keeper) Start() { k.service.Start(k.run) }

// Stop ends the services and waits until they have ended. It may be called more than once, and without Start.
func (k *Keeper) Stop() {
	k.service.Stop()
	k.stopped.Do(func() { k.disconnect(context.Background()) }) // of a keeper that never ran
}

// Done is closed when the services have ended: by Stop, or because the database is gone.
func (k *Keeper) Done() <-chan struct{} { return k.service.Done() }

// Verify returns nil when the database that a client's session is in is the one that was opened, and schema.ErrGone when
// it is not. began is when the client had logged in: a session from before a moment in which the database was certain is in that one, for
// one with sessions cannot be dropped. Where it cannot be told, for nobody gets a connection, Verify fails after a while, with a *refusal.Error.
func (k *Keeper) Verify(ctx context.Context, began time.Time) error {
	var patience <-chan time.Time
	for {
		sees, failing, changed := k.sees(began)
		if sees {
			return nil
		}
		if failing && patience == nil {
			patience = time.After(verifyPatience)
		}
		select {
		case <-changed:
		case <-patience:
			return &refusal.Error{
				Code: refusal.CannotConnectNow, Message: fmt.Sprintf("it cannot be told whether database %q is the one that was served before", k.config.Installation.Database()),
				Hint: "The proxy gets no connection of its own to it, which its log explains. Sessions from before go on.",
			}
		case <-k.Done():
			return schema.ErrGone
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Sees reports whether Verify would return nil without waiting, and does no less than it.
func (k *Keeper) Sees(began time.Time) bool {
	sees, _, _ := k.sees(began)
	return sees
}

// sees is Sees, and returns as well whether nobody knows, and what is closed when the state changes.
func (k *Keeper) sees(began time.Time) (sees, failing bool, changed <-chan struct{}) {
	state, seen, changed := k.known()
	select {
	case k.wake <- struct{}{}:
	default:
	}
	select {
	case <-k.Done():
		return false, false, changed
	default:
		before := began.Before(seen) && (state == keeperFailing || !began.IsZero()) // who is in no session waits for a look
		return state == keeperConnected || before, state == keeperFailing, changed
	}
}

// known returns the state, when the database was last certain, and what is closed when the state changes. Dropping a database ends its
// connections first: so run need not have come to read the end of its own.
func (k *Keeper) known() (state keeperState, seen time.Time, changed <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.glance()
	return k.state, k.seen, k.changed
}

// glance notes that the database is certain now, or that it is not any more, for who holds mu.
func (k *Keeper) glance() {
	switch {
	case k.state != keeperConnected:
	case k.watched != nil && socket.ConnHungUp(k.watched):
		k.change(keeperUnseen)
	default:
		k.seen = time.Now()
	}
}

func (k *Keeper) setState(s keeperState) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.change(s)
}

// change is setState for who holds mu.
func (k *Keeper) change(s keeperState) {
	if k.state == s {
		return
	}
	k.state = s
	close(k.changed)
	k.changed = make(chan struct{})
}

// run keeps the database until ctx ends or the database is gone.
func (k *Keeper) run(ctx context.Context) {
	defer k.disconnect(ctx)

	k.usedAt = time.Now()
	err := admin.Settle(ctx, k.conn, admin.ServiceLockWait)
	if err == nil {
		err = admin.ReadBytes(ctx, k.conn)
	}
	idle, backoff := k.config.Interval, firstBackoff
	losses, lostAt := 0, time.Time{} // losses in quick succession, and when the last one was
	for {
		connected := k.conn != nil
		if err == nil {
			err = k.serve(ctx, &idle)
			backoff = firstBackoff
		}
		k.disconnect(ctx)
		switch {
		case ctx.Err() != nil || errors.Is(err, schema.ErrGone):
			return
		case err == nil:
			pause := idle
			if k.waiting || k.temporary || k.behind() {
				pause = min(pause, waitingIdle)
			}
			idle = min(2*idle, max(longestIdle, k.config.Interval))
			k.sleep(ctx, k.scheduler.wait(pause), true)
		case connected || ended(err):
			// Dropping a database ends its connections: those who ask wait for the next one.
			k.config.Log.Warn("housekeeping interrupted", zap.Error(err))
			if time.Since(lostAt) > firstBackoff {
				losses = 0
			}
			losses, lostAt = losses+1, time.Now()
			if losses <= mostLosses {
				k.Health.Failed(err)
				break
			}
			fallthrough
		default:
			k.Health.Failed(err)
			k.config.Log.Warn("housekeeping interrupted", zap.Error(err), zap.Duration("again in", backoff))
			k.setState(keeperFailing)
			k.sleep(ctx, firstBackoff, false)
			k.sleep(ctx, backoff-firstBackoff, true)
			backoff = min(2*backoff, longestBackoff)
		}
		err = k.reconnect(ctx)
		if err == nil && losses > 1 && time.Since(lostAt) <= firstBackoff {
			err = k.listen(ctx, firstBackoff) // what fails at once is not done over and over; the database is in sight meanwhile
		}
	}
}

// ended tells whether the server ended a session while it was being set up.
func ended(err error) bool {
	var failed *pgconn.ConnectError
	return !errors.As(err, &failed) || refusal.SQLState(err) == refusal.AdminShutdown
}

// serve runs rounds on the open connection until the database has been idle for a while, and all
// consumers have their hints: what is given at each look at an idle database would have those who
// wait looked for once more each time.
func (k *Keeper) serve(ctx context.Context, idle *time.Duration) error {
	for {
		if err := k.round(ctx); err != nil {
			return err
		}
		if !k.fails() {
			k.Health.Worked()
		}
		if time.Since(k.usedAt) >= idleAfter && !k.scheduler.soon() && !k.hinter.more {
			return nil
		}
		*idle = k.config.Interval
		if err := k.listen(ctx, k.scheduler.wait(tickInterval)); err != nil {
			return err
		}
	}
}

// sleep waits with no connection, at most until ctx ends; a wake-up ends it early where that is wanted.
func (k *Keeper) sleep(ctx context.Context, d time.Duration, wakeable bool) {
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
	}
}

// listen lets d pass on the open connection, noticing at once when the server ends it.
func (k *Keeper) listen(ctx context.Context, d time.Duration) error {
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
func (k *Keeper) reconnect(ctx context.Context) error {
	conn, err := k.config.Installation.Dial(ctx, k.config.Server)
	if err != nil {
		return err
	}
	if err := admin.ReadBytes(ctx, conn); err != nil {
		admin.Close(ctx, conn)
		return err
	}
	k.conn, k.limit = conn, 0
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watched = rawConn(conn)
	k.change(keeperConnected)
	return nil
}

// rawConn is a connection as the system knows it; nil where it does not.
func rawConn(conn *pgx.Conn) syscall.RawConn {
	c := conn.PgConn().Conn()
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	if s, ok := c.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}

// disconnect closes the connection, if there is one. From then on the database is out of sight.
func (k *Keeper) disconnect(ctx context.Context) {
	k.mu.Lock()
	k.glance()
	k.watched = nil
	if k.state == keeperConnected {
		k.change(keeperUnseen)
	}
	k.mu.Unlock()
	if k.conn != nil {
		admin.Close(ctx, k.conn)
		k.conn = nil
	}
}
