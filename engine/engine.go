package engine

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/calls"
	"mbusproxy/engine/housekeeping"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
	"mbusproxy/engine/selectors"
	"mbusproxy/engine/semaphore"
	"mbusproxy/engine/waiting"
	"mbusproxy/rewrite/parse"
)

const (
	defaultSweepInterval = 5 * time.Second
	failureMemory        = time.Second      // how long a database that failed is not tried again
	openTimeout          = 30 * time.Second // one attempt: connecting, waiting for another proxy's upgrade, upgrading
	// upgradePatience is how long those who open a database wait for a step that clients'
	// transactions delay. Later it is done beside them.
	upgradePatience = 2 * time.Second
	upgradePause    = 5 * time.Second // before the next attempt, where one has failed
)

// Options configures an Engine.
type Options struct {
	// AdminDSN names the server and the role for the engine's own work. Its database is replaced
	// by the one in question.
	AdminDSN string
	// NoInit forbids the engine to create or upgrade the schema; Init does it then.
	NoInit bool
	// DisableBadSelectors lets a database be upgraded although some of its selectors are no longer accepted: their
	// consumers stay and get no more messages.
	DisableBadSelectors bool
	// Parser reads selectors; nil: the engine makes one of its own.
	Parser *parse.Parser
	Log    *zap.Logger // nil: none
	// SweepInterval is the time between two sweeps of a database in use; 0: 5 s.
	SweepInterval time.Duration
	// SemaphoreInterval is the time between two full passes over the semaphores of a database, which find
	// what was written to their tables directly; 0: 1 min.
	SemaphoreInterval time.Duration
	// WaitSweep is the time between two looks, for all calls that wait in a database, for messages
	// that were posted without the engine's knowing; 0: 1 s.
	WaitSweep time.Duration
}

// Engine keeps the databases that are served. It is safe for concurrent use.
type Engine struct {
	server     *admin.Server
	how        schema.Options
	log        *zap.Logger
	sweep      time.Duration
	semaphores time.Duration // between two full passes
	waitSweep  time.Duration
	look       waiting.Looks

	verifiers *Verifiers
	questions *questions

	stop     chan struct{}  // closed by Close: whatever runs ends
	running  sync.WaitGroup // attempts and keepers; added to under mu while not closed
	mu       sync.Mutex
	closed   bool
	registry map[string]*entry
}

// entry is one database in the registry: an attempt under way, its success, or a fresh failure.
type entry struct {
	done  chan struct{} // closed when db or err is set
	db    *Database
	err   error
	until time.Time // when a failure is forgotten; read after done

	forgotten chan struct{} // closed by Forget, which takes the entry out of the registry
}

// Open checks the options and that the server lets the admin role in. It installs nothing: that
// happens database by database, when first asked for.
func Open(ctx context.Context, opt Options) (*Engine, error) {
	server, err := admin.Parse(opt.AdminDSN)
	if err != nil {
		return nil, err
	}
	conn, err := server.Connect(ctx, server.Database())
	if err != nil {
		return nil, err
	}
	admin.Close(ctx, conn)
	e := &Engine{
		server:     server,
		how:        schema.Options{NoInit: opt.NoInit, DisableBadSelectors: opt.DisableBadSelectors, Parser: cmp.Or(opt.Parser, parse.New())},
		log:        opt.Log,
		sweep:      opt.SweepInterval,
		semaphores: opt.SemaphoreInterval,
		waitSweep:  opt.WaitSweep,
		look:       waiting.Looks{Any: calls.New().Look(), One: calls.New().LookForMessages()},
		stop:       make(chan struct{}),
		registry:   map[string]*entry{},
	}
	e.verifiers = newVerifiers(e)
	e.questions = newQuestions()
	if e.log == nil {
		e.log = zap.NewNop()
	}
	if e.sweep <= 0 {
		e.sweep = defaultSweepInterval
	}
	return e, nil
}

// Database gives the database of that name ready for use: the schema is installed, for the operator
// wants it, and its services run. The first call does the work while others wait for it; a failure,
// always an *Error but for ctx's own, is remembered for a second. It also tells the services that
// the database is in use, and notices when the database was dropped and made again.
func (e *Engine) Database(ctx context.Context, name string) (*Database, error) {
	return e.database(ctx, name, time.Time{}, func() error { return nil })
}

// DatabaseFor is Database for a client that has logged in as role, "" for one of whom no role is
// known: a schema that is missing is installed only where the role could use it. began is when it had logged in: it gets an
// error where nobody can tell whether its session is in the database that was opened. With the zero time it gets none, for what
// is not sent into a client's session unseen.
func (e *Engine) DatabaseFor(ctx context.Context, name, role string, began time.Time) (*Database, error) {
	return e.database(ctx, name, began, func() error { return e.mayOpen(ctx, name, role) })
}

// database asks may before each attempt to open the database.
func (e *Engine) database(ctx context.Context, name string, began time.Time, may func() error) (*Database, error) {
	for {
		if !e.known(name) {
			if err := may(); err != nil {
				return nil, err
			}
		}
		ent, err := e.lookup(ctx, name)
		if err != nil {
			return nil, err
		}
		select {
		case <-ent.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if ent.err != nil {
			return nil, ent.err
		}
		switch err := ent.db.keeper.Verify(ctx, began); {
		case err == nil:
			return ent.db, nil
		case !errors.Is(err, schema.ErrGone):
			return nil, err
		}
		e.remove(name, ent) // and once more, with the database that bears the name now
	}
}

// Recall returns what DatabaseFor would, if the database is ready for use and nothing has to be waited for
// to know that; else nil. It tells the services that the database is in use.
func (e *Engine) Recall(name string, began time.Time) *Database {
	e.mu.Lock()
	ent := e.registry[name]
	e.mu.Unlock()
	if ent == nil {
		return nil
	}
	select {
	case <-ent.done:
	default:
		return nil
	}
	if ent.err != nil || !ent.db.keeper.Sees(began) {
		return nil
	}
	return ent.db
}

// Forget drops what is known of a database. The next call of Database looks afresh.
func (e *Engine) Forget(name string) {
	e.mu.Lock()
	ent := e.registry[name]
	delete(e.registry, name)
	e.mu.Unlock()
	if ent != nil {
		close(ent.forgotten)
	}
}

// Close stops all services and waits for them. It may be called more than once.
func (e *Engine) Close() {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		close(e.stop)
	}
	e.mu.Unlock()
	e.verifiers.close()
	e.running.Wait()
}

// known reports whether lookup would find the entry of a database, be it a failure.
func (e *Engine) known(name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	ent := e.registry[name]
	return e.closed || ent != nil && !ent.stale(time.Now())
}

// lookup finds the entry of a database or begins an attempt to open it.
func (e *Engine) lookup(ctx context.Context, name string) (*entry, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, &refusal.Error{Code: refusal.AdminShutdown, Message: "mbusproxy is shutting down", Hint: "In a moment you should be able to reconnect and repeat your command."}
	}
	ent := e.registry[name]
	if ent != nil && !ent.stale(time.Now()) {
		return ent, nil
	}
	ent = &entry{done: make(chan struct{}), forgotten: make(chan struct{})}
	e.registry[name] = ent
	// The attempt serves everybody who waits, so the end of the first one's context must not end it.
	ctx = context.WithoutCancel(ctx)
	e.running.Go(func() { e.attempt(ctx, name, ent) })
	return ent, nil
}

func (ent *entry) stale(now time.Time) bool {
	select {
	case <-ent.done:
		return ent.err != nil && now.After(ent.until)
	default:
		return false
	}
}

// attempt opens a database, tells those who wait through ent, and then lets the database's services
// run until it is forgotten or gone, or the engine closes.
func (e *Engine) attempt(ctx context.Context, name string, ent *entry) {
	db, err := e.open(ctx, name)
	if err != nil {
		e.log.Warn("database not served", zap.String("database", name), zap.Error(err))
		ent.err = err
		ent.until = time.Now()
		if !passing(err) {
			ent.until = ent.until.Add(failureMemory)
		}
		close(ent.done)
		return
	}
	ent.db = db
	close(ent.done)
	if db.pending {
		upgrading, stop := e.untilStop(ctx)
		defer stop()
		e.running.Go(func() { e.upgrade(upgrading, name) })
	}
	db.granter.Start()
	db.keeper.Start()
	db.watcher.Start()
	select {
	case <-db.keeper.Done():
	case <-db.granter.Done():
	case <-db.watcher.Done():
	case <-ent.forgotten:
	case <-e.stop:
	}
	db.keeper.Stop()
	db.granter.Stop()
	db.watcher.Stop()
	e.remove(name, ent)
}

// open connects to a database, installs what is missing and hands the connection to a keeper.
func (e *Engine) open(ctx context.Context, name string) (*Database, error) {
	ctx, cancel := e.untilStop(ctx)
	defer cancel()
	ctx, cancelTimeout := context.WithTimeout(ctx, openTimeout)
	defer cancelTimeout()
	conn, err := e.server.Connect(ctx, name)
	if err != nil {
		return nil, err
	}
	how := e.how
	how.Patience = upgradePatience
	in, res, err := schema.Prepare(ctx, conn, how, e.log)
	features := &schema.Features{}
	if err != nil {
		admin.Close(ctx, conn)
		return nil, refusal.Wrap("preparing database "+name, err)
	}
	log := e.log.With(zap.String("database", name))
	watcher := waiting.NewWatcher(e.server, in, features, e.look, e.waitSweep, log)
	granter := semaphore.NewGranter(e.server, in, e.semaphores, func() { watcher.Note(waiting.QueuesOf(semaphore.Events), true) }, log)
	return &Database{
		engine:    e,
		installed: in,
		pending:   res.Pending,
		features:  features,
		selectors: selectors.NewMaker(e.server, name, in.Env(), e.how.Parser),
		granter:   granter,
		watcher:   watcher,
		keeper: housekeeping.NewKeeper(housekeeping.Config{
			Server: e.server, Installation: in, Features: features, Granter: granter, Watcher: watcher, Interval: e.sweep, Log: log,
		}, conn),
	}, nil
}

// upgrade runs the steps that were left when a database was opened. It ends with ctx.
func (e *Engine) upgrade(ctx context.Context, name string) {
	for {
		err := func() error {
			conn, err := e.server.Connect(ctx, name)
			if err != nil {
				return err
			}
			defer admin.Close(context.WithoutCancel(ctx), conn)
			_, _, err = schema.Prepare(ctx, conn, e.how, e.log)
			return err
		}()
		if err == nil || ctx.Err() != nil {
			return
		}
		e.log.Warn("schema mbus4 not upgraded yet", zap.String("database", name), zap.Error(err))
		select {
		case <-time.After(upgradePause):
		case <-ctx.Done():
			return
		}
	}
}

// remove takes ent out of the registry unless another has taken its place.
func (e *Engine) remove(name string, ent *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.registry[name] == ent {
		delete(e.registry, name)
	}
}

// untilStop gives a context that ends with ctx or with the engine.
func (e *Engine) untilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	e.running.Go(func() {
		select {
		case <-e.stop:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, cancel
}

// Error is a refusal that a client gets to see as it is.
type Error = refusal.Error
