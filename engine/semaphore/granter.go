package semaphore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/service"
	"mbusproxy/engine/schema"
)

const (
	defaultSemaphoreInterval = time.Minute
	grantTick                = 50 * time.Millisecond // between two turns of a database in use
	grantRest                = 5 * time.Millisecond  // after a notification, which any role can send
	grantIdleAfter           = 3 * time.Second       // without use or change: the connection is closed
	grantIdle                = time.Second           // between two looks while nothing happens, growing up to
	grantLongestIdle         = 5 * time.Second
	grantFirstBackoff        = 50 * time.Millisecond
	grantLongestBackoff      = 10 * time.Second
	usedFor                  = 1500 * time.Millisecond // how long a database counts as in use
	turnTimeout              = 2 * time.Minute
)

// Granter is the service that grants: it lets an allocator take its turns over a connection of its
// own. A database without semaphores costs nothing. One with semaphores is looked at every
// grantTick while it is in use or its semaphores are, and every one to five seconds else, without a
// connection in between: it can be dropped as without a proxy.
type Granter struct {
	server    *admin.Server
	installed schema.Installation
	allocator *allocator
	service   *service.Service
	log       *zap.Logger
	posted    func()
	bell      service.Bell
	// Health is how it fares.
	Health         service.Health
	granted, asked atomic.Uint64
	leads          atomic.Bool // see Leads
	latencies      latencies

	exist atomic.Bool // there are semaphores
	noted atomic.Bool // a transaction of this proxy that may have changed semaphores has ended since the last turn
	// notedAt is when the first such transaction has ended, in nanoseconds since 1970; 0: none has.
	notedAt atomic.Int64
	usedAt  atomic.Int64 // when the keeper last found the database in use, in nanoseconds since 1970
	busyAt  time.Time    // when something last happened; of run
}

// NewGranter makes a Granter for a database that was prepared. interval is the time between two
// full passes. posted is called when events have been posted; it must not wait.
func NewGranter(server *admin.Server, in schema.Installation, interval time.Duration, posted func(), log *zap.Logger) *Granter {
	return &Granter{
		server: server, installed: in, service: service.New(), log: log, posted: posted, busyAt: time.Now(),
		allocator: newAllocator(cmp.Or(interval, defaultSemaphoreInterval)),
	}
}

// Start begins to grant. It does so once; further calls, and calls after Stop, do nothing.
func (s *Granter) Start() { s.service.Start(s.run) }

// Stop ends granting and waits until it has ended. It may be called more than once, and without Start.
func (s *Granter) Stop() { s.service.Stop() }

// Done is closed when granting has ended: by Stop, or because the database is gone.
func (s *Granter) Done() <-chan struct{} { return s.service.Done() }

// Counts is how many slots it has given, and how many tasks it has asked to leave theirs.
func (s *Granter) Counts() (granted, asked uint64) { return s.granted.Load(), s.asked.Load() }

// Latencies is how long its grants have taken: from the end of the transaction that released a
// slot, or that enqueued the task where a slot was free, to the grant. Of a transaction that
// another proxy, or none, has seen it counts from the last look before. What a full pass has found
// is not in it.
func (s *Granter) Latencies() Latencies { return s.latencies.read() }

// Note tells that a transaction that called functions of semaphores has ended, committed or not: what it may have made
// possible is granted at once. It does not wait.
func (s *Granter) Note() {
	s.exist.Store(true)
	s.notedAt.CompareAndSwap(0, time.Now().UnixNano())
	s.noted.Store(true)
	s.bell.Ring()
}

// Leads reports whether it is the one that grants, as of its last turn.
func (s *Granter) Leads() bool { return s.leads.Load() }

// Observe tells whether there are semaphores and whether the database is in use.
func (s *Granter) Observe(exist, used bool) {
	ring := exist && !s.exist.Swap(true)
	if used {
		ring = ring || !s.inUse()
		s.usedAt.Store(time.Now().UnixNano())
	}
	if ring {
		s.bell.Ring()
	}
}

func (s *Granter) inUse() bool {
	return time.Since(time.Unix(0, s.usedAt.Load())) < usedFor
}

func (s *Granter) run(ctx context.Context) {
	backoff := grantFirstBackoff
	for ctx.Err() == nil {
		if !s.exist.Load() {
			s.bell.Wait(ctx, time.Hour)
			continue
		}
		worked, err := s.session(ctx)
		if worked {
			backoff = grantFirstBackoff
		}
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, schema.ErrGone):
			return
		case err != nil:
			s.allocator.forget()
			s.Health.Failed(err)
			s.log.Warn("granting of semaphores interrupted", zap.Error(err), zap.Duration("again in", backoff))
			service.Sleep(ctx, backoff)
			backoff = min(2*backoff, grantLongestBackoff)
		default:
			// A look takes a connection, some milliseconds of work.
			s.bell.Wait(ctx, min(max(time.Since(s.busyAt)/20, grantIdle), grantLongestIdle))
		}
	}
}

// session works over one connection until nothing has happened for a while. worked: it took a turn.
func (s *Granter) session(ctx context.Context) (worked bool, err error) {
	conn, err := s.installed.Dial(ctx, s.server)
	if err != nil {
		return false, err
	}
	defer admin.Close(ctx, conn)
	if err := settleGranter(ctx, conn); err != nil {
		return false, err
	}
	for {
		noted := s.noted.Swap(false)
		if at := s.notedAt.Swap(0); at != 0 {
			s.allocator.notedAt = time.Unix(0, at)
		}
		out, err := s.turn(ctx, conn)
		s.leads.Store(out.Leads && err == nil)
		if err != nil {
			return worked, err
		}
		worked = true
		s.Health.Worked()
		if out.Granted+out.Asked > 0 {
			s.granted.Add(uint64(out.Granted))
			s.asked.Add(uint64(out.Asked))
			s.latencies.add(out.After)
			s.posted()
		}
		if noted && !out.Leads {
			// Whoever leads may be waiting for his next tick.
			if _, err := conn.Exec(ctx, "notify "+grantChannel); err != nil {
				return worked, fmt.Errorf("telling the proxy that grants: %w", err)
			}
		}
		if out.Passed > 0 {
			s.log.Debug("semaphores passed over", zap.Int("number", out.Passed), zap.Duration("took", out.Took))
		}
		now := time.Now()
		if noted || out.Busy || out.Changes+out.Granted+out.Asked > 0 {
			s.busyAt = now
		}
		switch {
		case out.More:
		case now.Sub(s.busyAt) < grantIdleAfter || s.inUse():
			if err := s.listen(ctx, conn); err != nil {
				return worked, err
			}
		default:
			return worked, nil
		}
	}
}

func (s *Granter) turn(ctx context.Context, conn *pgx.Conn) (turned, error) {
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	out, err := s.allocator.Turn(ctx, conn)
	if schema.Dropped(err) {
		return out, schema.ErrGone
	}
	return out, err
}

// settleGranter prepares the session further: plans are made once, and the server ends a session
// that hangs, and with it the lead.
func settleGranter(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.PgConn().Exec(ctx, `
		set plan_cache_mode = force_generic_plan;
		set idle_session_timeout = '10s';
		set tcp_keepalives_idle = 5;
		set tcp_keepalives_interval = 2;
		set tcp_keepalives_count = 3`).ReadAll()
	if err != nil {
		return fmt.Errorf("setting up the session for semaphores: %w", err)
	}
	return admin.ReadBytes(ctx, conn)
}

// listen waits for the next tick, for the bell, or for a notification.
func (s *Granter) listen(ctx context.Context, conn *pgx.Conn) error {
	told, err := s.bell.Listen(ctx, conn, grantTick)
	if told {
		service.Sleep(ctx, grantRest) // who notifies all the time is not followed all the time
	}
	if err != nil {
		return fmt.Errorf("waiting for changes of semaphores: %w", err)
	}
	return nil
}
