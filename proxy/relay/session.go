package relay

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/relay/life"
	"mbusproxy/proxy/upstream"
	"mbusproxy/proxy/wire"
)

// Session is a client and its server after startup. A loop moves its bytes, or two goroutines of its own do. How it
// ends is decided by package life.
type Session struct {
	all *Sessions
	key wire.CancelKey

	client *endpoint.Endpoint // nil in a loop, as server is
	server *endpoint.Endpoint

	pipeline.Flows         // Up belongs to the direction client -> server, Down to the other
	looped         *looped // set when a loop moves the bytes, and then for the session's life; else nil
	replication    bool    // a replication connection (startup parameter replication): its messages are not looked at

	seen observed

	// life is where the session stands. In a loop it belongs to the loop's goroutine, else mu guards it.
	life life.State
	// provoked is life.Facts.Provoked. It is set before the write to the server.
	provoked atomic.Bool
	// running counts the goroutines.
	running atomic.Int32

	*ofGoroutines // nil before it is launched, and in a loop
}

// ofGoroutines is what only a session with goroutines has.
type ofGoroutines struct {
	// mu guards Session.life, and what follows up to timer. It is never held during input, output or a Rewriter's call.
	mu    sync.Mutex
	inbox pipeline.Inbox // filled by clientToServer before it writes, emptied by serverToClient before it reads replies
	// waits is set while messages of the client wait for the Rewriter, or for room in the request queue.
	waits bool
	timer *time.Timer // of the grace time; nil: it has not begun

	// roomy wakes clientToServer when there may be room in the request queue.
	roomy chan struct{}
	// cancel ends the context of the Rewriter's calls.
	cancel context.CancelFunc
	// asked is the life.Event that Shutdown wants reported by serverToClient; 0: none.
	asked atomic.Uint32
}

// Log returns a logger that names the session.
func (s *Session) Log() *zap.Logger { return s.all.log.WithLazy(zap.Uint64("session", s.seen.id)) }

// graceTime is how long a session that ends waits for its client: first to take what is left for it, then to close.
const graceTime = time.Second

// ExpireTime is what expired sessions need at most to end: a graceTime for a write to the client that is under way,
// and those of graceTime itself.
const ExpireTime = 3 * graceTime

// Keyed is called when the server at that address has given the session its cancel key, before the
// client has it: what is cancelled with it waits for the session to run.
func (s *Session) Keyed(key wire.CancelKey, at upstream.Target) {
	if s.key != "" { // of a server that sends two the last counts, as for libpq
		s.all.cancels.remove(s.key)
		s.key = ""
	}
	if key == "" {
		return
	}
	if s.all.cancels.add(key, at) {
		s.key = key
	} else {
		s.Log().Warn("two servers use the same cancel key; it stays with the older session")
	}
}

// Connected is called when startup is over: c leads to the server.
func (s *Session) Connected(c *upstream.Connection, f pipeline.SessionInfo) {
	s.server = c.Endpoint
	s.seen.user, s.seen.database = f.User, f.Database
	s.seen.state.Store(uint32(Idle))
	f.Key = s.key
	s.Begin(f)
}

// Abandon ends a session that was not launched. The client's endpoint is its caller's.
func (s *Session) Abandon() {
	if s.server != nil {
		s.server.Close()
	}
	s.all.forget(s)
}

// start runs the session; rest is what the server sent behind its first ReadyForQuery.
// Sessions.enter has set running. ctx is for the Rewriter's calls of a session with goroutines and
// ends by s.cancel; a loop makes one for each call, see looped.cancelRewrite.
func (s *Session) start(ctx context.Context, rest []byte) {
	if s.looped != nil {
		s.looped.start(rest)
		return
	}
	go s.run("client to server", func() { s.clientToServer(ctx) })
	go s.run("server to client", func() { s.serverToClient(rest) })
}

// run runs one direction in its own goroutine; a panic ends the session.
func (s *Session) run(direction string, work func()) {
	defer s.leave()
	defer s.guard(direction)
	work()
}

// guard is deferred by what may panic, which then ends the session and nothing else.
func (s *Session) guard(direction string) {
	if p := recover(); p != nil {
		s.panicked(direction, p)
		s.report(life.Cut)
	}
}

// panicked logs and counts the panic p; it is called while the stack is still there.
func (s *Session) panicked(direction string, p any) {
	s.all.Counts.Panics.Add(1)
	s.Log().Error("session ended by a panic", zap.String("direction", direction),
		zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
}

// explain logs why a direction ended when that is of interest.
func (s *Session) explain(direction string, err error) {
	if pipeline.IsLostSync(err) {
		s.all.Counts.LostSync.Add(1)
		s.Log().Error("session closed: lost synchronization with the server",
			zap.String("direction", direction), zap.Error(err))
		return
	}
	s.Log().Debug("session ended", zap.String("direction", direction), zap.Error(err))
}

// leave is called by each goroutine at its end.
func (s *Session) leave() {
	if s.running.Add(-1) > 0 {
		return
	}
	s.report(life.Cut) // both connections are closed by now, unless a goroutine has left too early
	s.Up.Leave()
	s.Up.Release()
	s.all.forget(s)
}
