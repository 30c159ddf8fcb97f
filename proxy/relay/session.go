package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/fatal"
	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/upstream"
	"mbusproxy/proxy/wire"
)

// Session is a client and its server after startup. Two goroutines work for it: upstream moves
// what the client sends, downstream what the server sends. The last of them to end closes both
// links.
type Session struct {
	all *Sessions
	Log *zap.Logger
	key wire.CancelKey

	clientLink *endpoint.Endpoint
	serverLink *endpoint.Endpoint

	pipeline.Flows        // up is owned by upstream, down by downstream
	plain          bool   // replication: bytes are moved unseen
	lanes          *lanes // set when a loop moves the bytes, and then for the session's life; else nil

	// mu guards what follows up to cancel. It is never held during input, output or a Rewriter's call.
	mu    sync.Mutex
	inbox pipeline.Inbox // filled by upstream before it writes, emptied by downstream before it reads replies
	// sealed means that downstream has decided to end the session: upstream writes no more.
	sealed bool
	// closing means that deadlines of reading from the client are those of the end.
	closing bool

	// roomy wakes upstream when the server owes less.
	roomy chan struct{}

	// cancel ends the context of the Rewriter's calls; for sessions with goroutines.
	cancel context.CancelFunc
	// mayClose is set before the server gets what it may answer by closing without a word: the
	// client's end, or a message it cannot be expected to take.
	mayClose atomic.Bool
	// phase is how far Shutdown has come for this session.
	phase atomic.Int32
	// running counts the goroutines.
	running atomic.Int32
}

// Phases of a session's end, only ever ascending.
const (
	phaseServing  = iota // no end in sight
	phaseDraining        // ends as soon as it is idle
	phaseExpired         // ends now
)

// errSealed ends upstream after downstream has taken leave.
var errSealed = errors.New("session is ending")

// lingerTime is how long the client's side stays open to take what the client still sends after
// the server has closed: closing a socket with unread input would make the client's system throw
// away the server's last words.
const lingerTime = time.Second

// ExpireTime is what expired sessions need at most to end.
const ExpireTime = 2*endpoint.GoodbyeTime + lingerTime

// Connected is called when startup is over: c leads to the server, which has given the session this key, "" for none.
func (s *Session) Connected(c *upstream.Connection, key wire.CancelKey, f pipeline.Facts) {
	s.serverLink = c.Endpoint
	s.Begin(f)
	if key == "" {
		return
	}
	if s.all.cancels.add(key, c.At) {
		s.key = key
	} else {
		s.Log.Warn("two servers use the same cancel key; it stays with the older session")
	}
}

// Abandon ends a session that was not launched. The client's link is not its business.
func (s *Session) Abandon() {
	if s.serverLink != nil {
		s.serverLink.Close()
	}
	s.all.forget(s)
}

// start runs the session; rest is what the server sent behind its first ReadyForQuery. Sessions.Launch
// has set running. ctx is for the Rewriter's calls and ends by s.cancel.
func (s *Session) start(ctx context.Context, rest []byte) {
	if s.lanes != nil {
		s.lanes.start(rest)
		return
	}
	s.roomy = make(chan struct{}, 1)
	go s.run("client to server", func() error { return s.upstream(ctx) })
	go s.run("server to client", func() error { return s.downstream(rest) })
}

// run keeps a panic from leaving the session.
func (s *Session) run(direction string, work func() error) {
	defer s.leave()
	defer func() {
		if p := recover(); p != nil {
			s.panicked(direction, p)
			s.stop()
		}
	}()
	if err := work(); err != nil {
		s.explain(direction, err)
		s.stop()
	}
}

// panicked logs and counts the panic p; it is called while the stack is still there.
func (s *Session) panicked(direction string, p any) {
	s.all.Counts.Panics.Add(1)
	s.Log.Error("session ended by a panic", zap.String("direction", direction),
		zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
}

// explain logs why a direction ended when that is of interest.
func (s *Session) explain(direction string, err error) {
	if pipeline.IsOutOfStep(err) {
		s.all.Counts.Desyncs.Add(1)
		s.Log.Error("session closed: out of step with the server",
			zap.String("direction", direction), zap.Error(err))
		return
	}
	s.Log.Debug("session ended", zap.String("direction", direction), zap.Error(err))
}

// stop makes both goroutines return from whatever they wait for.
func (s *Session) stop() {
	if s.lanes != nil {
		s.lanes.stop()
		return
	}
	s.mu.Lock()
	s.sealed = true
	s.mu.Unlock()
	s.cancel()
	s.clientLink.Interrupt()
	s.serverLink.Interrupt()
}

// leave is called by each goroutine at its end.
func (s *Session) leave() {
	if s.running.Add(-1) > 0 {
		return
	}
	s.cancel()
	s.clientLink.Close()
	s.serverLink.Close()
	s.Up.Release()
	s.all.forget(s)
}

// upstream moves client -> server until the client ends or the session does. A nil error leaves
// the other direction running.
func (s *Session) upstream(ctx context.Context) error {
	out := wire.Splicer{Pool: s.clientLink.Pool}
	for {
		batch, err := s.clientLink.ReadBatch(&s.Up.Framer)
		if err != nil && errors.Is(err, os.ErrDeadlineExceeded) && s.goesOn() {
			batch, err = nil, nil // woken to let go what is gathered
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				// The server ends as it would had the client been connected directly: after what
				// it has received.
				s.mayClose.Store(true)
				s.serverLink.CloseWrite()
				return nil
			}
			return fmt.Errorf("reading from client: %w", err)
		}
		err = s.forward(ctx, batch, &out)
		out.Free()
		if batch != nil {
			s.clientLink.DropBatch()
		}
		if err != nil {
			return err
		}
		if s.Up.Terminated {
			s.linger()
			return nil
		}
	}
}

// forward feeds a batch and writes it to the server; what comes before the first statement for the
// Rewriter does not wait for its answer.
func (s *Session) forward(ctx context.Context, batch []byte, out *wire.Splicer) error {
	if s.plain {
		out.Begin(batch)
		s.toServer(out)
		return nil
	}
	s.Up.Detached = true
	for {
		err := s.Up.Feed(ctx, s.stands(), batch, out)
		full := errors.Is(err, wire.ErrFull)
		if err != nil && !full && !errors.Is(err, pipeline.ErrNeedsRewriter) {
			return err
		}
		if sealed := s.expect(); sealed != nil {
			return sealed
		}
		s.toServer(out)
		s.Up.Settle()
		if err == nil {
			return nil
		}
		batch = s.Up.TakeAside()
		s.Up.Detached = full
		if full && !s.awaitRoom(ctx) {
			return errSealed
		}
	}
}

// foresee sets mayClose before a write to the server.
func (s *Session) foresee() {
	if may := s.Up.Terminated || !s.Up.AtBoundary(); may != s.mayClose.Load() {
		s.mayClose.Store(may)
	}
}

// toServer writes what out holds. When that fails upstream goes on as after Terminate, for
// downstream is to deliver what the server still said.
func (s *Session) toServer(out *wire.Splicer) {
	s.foresee()
	if s.serverLink.Write(out.Result()) != nil {
		s.Up.Terminated = true
	}
}

// linger throws away what the client sends until it closes or the session ends.
func (s *Session) linger() {
	var none wire.Framer
	for {
		if _, err := s.clientLink.ReadBatch(&none); err != nil {
			return
		}
		s.clientLink.DropBatch()
	}
}

// downstream moves server -> client until the server closes or the session is to end.
func (s *Session) downstream(rest []byte) error {
	out := wire.Splicer{Pool: s.serverLink.Pool}
	if len(rest) > 0 {
		if err := s.deliver(rest, &out); err != nil {
			return err
		}
	}
	for {
		if s.phase.Load() != phaseServing && s.mayEnd() {
			s.goodbye()
			return nil
		}
		batch, err := s.serverLink.ReadBatch(&s.Down.Framer)
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) && s.phase.Load() != phaseServing && s.readsOn() {
				continue // woken by drain or expire; the phase is looked at again
			}
			if !errors.Is(err, io.EOF) {
				s.explain("server to client", fmt.Errorf("reading from server: %w", err))
			}
			s.speakForServer()
			s.serverClosed()
			return nil
		}
		err = s.deliver(batch, &out)
		s.serverLink.DropBatch()
		if err != nil {
			return err
		}
	}
}

// deliver forwards a batch to the client.
func (s *Session) deliver(batch []byte, out *wire.Splicer) error {
	var failed error
	if s.plain {
		out.Begin(batch)
	} else {
		s.collect()
		failed = s.Down.Feed(batch, out)
		s.publish()
	}
	err := s.clientLink.Write(out.Result())
	out.Free()
	if failed != nil {
		return failed
	}
	if err != nil {
		return fmt.Errorf("writing to client: %w", err)
	}
	return nil
}

func (s *Session) isSealed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sealed
}

// speakForServer tells the client that its session is over when the server could not.
func (s *Session) speakForServer() {
	if s.plain || s.mayClose.Load() || s.isSealed() || !s.Down.EndedSilently() {
		return
	}
	_ = s.clientLink.Socket.SetWriteDeadline(time.Now().Add(endpoint.GoodbyeTime))
	_ = s.clientLink.Write(fatal.ServerEnded().Encode(nil))
}

// serverClosed passes the server's end on to the client.
func (s *Session) serverClosed() {
	s.cancel()
	s.clientLink.CloseWrite()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	if !s.sealed || s.phase.Load() != phaseServing {
		_ = s.clientLink.Socket.SetReadDeadline(time.Now().Add(lingerTime))
	}
}
