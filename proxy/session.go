package proxy

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
)

// session is a client and its server after startup. Two goroutines work for it: upstream moves
// what the client sends, downstream what the server sends. The last of them to end closes both
// links.
type session struct {
	all *sessions
	log *zap.Logger
	key cancelKey

	clientLink *link
	serverLink *link

	flows        // up is owned by upstream, down by downstream
	plain bool   // replication: bytes are moved unseen
	lanes *lanes // set when a loop moves the bytes, and then for the session's life; else nil

	// mu guards what follows up to cancel. It is never held during input, output or a Rewriter's call.
	mu    sync.Mutex
	inbox inbox // filled by upstream before it writes, emptied by downstream before it reads replies
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

// expireTime is what expired sessions need at most to end.
const expireTime = 2*goodbyeTime + lingerTime

// connected is called when startup is over: c leads to the server, which has given the session this key, "" for none.
func (s *session) connected(c *connected, key cancelKey, f facts) {
	s.serverLink = c.link
	s.begin(f)
	if key == "" {
		return
	}
	if s.all.cancels.add(key, c.at) {
		s.key = key
	} else {
		s.log.Warn("two servers use the same cancel key; it stays with the older session")
	}
}

// abandon ends a session that was not launched. The client's link is not its business.
func (s *session) abandon() {
	if s.serverLink != nil {
		s.serverLink.close()
	}
	s.all.forget(s)
}

// start runs the session; rest is what the server sent behind its first ReadyForQuery. sessions.launch
// has set running. ctx is for the Rewriter's calls and ends by s.cancel.
func (s *session) start(ctx context.Context, rest []byte) {
	if s.lanes != nil {
		s.lanes.start(rest)
		return
	}
	s.roomy = make(chan struct{}, 1)
	go s.run("client to server", func() error { return s.upstream(ctx) })
	go s.run("server to client", func() error { return s.downstream(rest) })
}

// run keeps a panic from leaving the session.
func (s *session) run(direction string, work func() error) {
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
func (s *session) panicked(direction string, p any) {
	s.all.counts.panics.Add(1)
	s.log.Error("session ended by a panic", zap.String("direction", direction),
		zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
}

// explain logs why a direction ended when that is of interest.
func (s *session) explain(direction string, err error) {
	if isOutOfStep(err) {
		s.all.counts.desyncs.Add(1)
		s.log.Error("session closed: out of step with the server",
			zap.String("direction", direction), zap.Error(err))
		return
	}
	s.log.Debug("session ended", zap.String("direction", direction), zap.Error(err))
}

// stop makes both goroutines return from whatever they wait for.
func (s *session) stop() {
	if s.lanes != nil {
		s.lanes.stop()
		return
	}
	s.mu.Lock()
	s.sealed = true
	s.mu.Unlock()
	s.cancel()
	s.clientLink.interrupt()
	s.serverLink.interrupt()
}

// leave is called by each goroutine at its end.
func (s *session) leave() {
	if s.running.Add(-1) > 0 {
		return
	}
	s.cancel()
	s.clientLink.close()
	s.serverLink.close()
	s.up.release()
	s.all.forget(s)
}

// upstream moves client -> server until the client ends or the session does. A nil error leaves
// the other direction running.
func (s *session) upstream(ctx context.Context) error {
	out := assembly{pool: s.clientLink.pool}
	for {
		batch, err := s.clientLink.read(&s.up.framer)
		if err != nil && errors.Is(err, os.ErrDeadlineExceeded) && s.goesOn() {
			batch, err = nil, nil // woken to let go what is gathered
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				// The server ends as it would had the client been connected directly: after what
				// it has received.
				s.mayClose.Store(true)
				s.serverLink.closeWrite()
				return nil
			}
			return fmt.Errorf("reading from client: %w", err)
		}
		err = s.forward(ctx, batch, &out)
		out.free()
		if batch != nil {
			s.clientLink.drop()
		}
		if err != nil {
			return err
		}
		if s.up.terminated {
			s.linger()
			return nil
		}
	}
}

// forward feeds a batch and writes it to the server; what comes before the first statement for the
// Rewriter does not wait for its answer.
func (s *session) forward(ctx context.Context, batch []byte, out *assembly) error {
	if s.plain {
		out.begin(batch)
		s.toServer(out)
		return nil
	}
	s.up.detached = true
	for {
		err := s.up.feed(ctx, s.stands(), batch, out)
		full := errors.Is(err, errFull)
		if err != nil && !full && !errors.Is(err, errNeedsRewriter) {
			return err
		}
		if sealed := s.expect(); sealed != nil {
			return sealed
		}
		s.toServer(out)
		s.up.settle()
		if err == nil {
			return nil
		}
		batch = s.up.takeAside()
		s.up.detached = full
		if full && !s.awaitRoom(ctx) {
			return errSealed
		}
	}
}

// foresee sets mayClose before a write to the server.
func (s *session) foresee() {
	if may := s.up.terminated || !s.up.atBoundary(); may != s.mayClose.Load() {
		s.mayClose.Store(may)
	}
}

// toServer writes what out holds. When that fails upstream goes on as after Terminate, for
// downstream is to deliver what the server still said.
func (s *session) toServer(out *assembly) {
	s.foresee()
	if s.serverLink.write(out.result()) != nil {
		s.up.terminated = true
	}
}

// linger throws away what the client sends until it closes or the session ends.
func (s *session) linger() {
	var none framer
	for {
		if _, err := s.clientLink.read(&none); err != nil {
			return
		}
		s.clientLink.drop()
	}
}

// downstream moves server -> client until the server closes or the session is to end.
func (s *session) downstream(rest []byte) error {
	out := assembly{pool: s.serverLink.pool}
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
		batch, err := s.serverLink.read(&s.down.framer)
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
		s.serverLink.drop()
		if err != nil {
			return err
		}
	}
}

// deliver forwards a batch to the client.
func (s *session) deliver(batch []byte, out *assembly) error {
	var failed error
	if s.plain {
		out.begin(batch)
	} else {
		s.collect()
		failed = s.down.feed(batch, out)
		s.publish()
	}
	err := s.clientLink.write(out.result())
	out.free()
	if failed != nil {
		return failed
	}
	if err != nil {
		return fmt.Errorf("writing to client: %w", err)
	}
	return nil
}

func (s *session) isSealed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sealed
}

// speakForServer tells the client that its session is over when the server could not.
func (s *session) speakForServer() {
	if s.plain || s.mayClose.Load() || s.isSealed() || !s.down.endedSilently() {
		return
	}
	_ = s.clientLink.sock.SetWriteDeadline(time.Now().Add(goodbyeTime))
	_ = s.clientLink.write(sayServerEnded().encode(nil))
}

// serverClosed passes the server's end on to the client.
func (s *session) serverClosed() {
	s.cancel()
	s.clientLink.closeWrite()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	if !s.sealed || s.phase.Load() != phaseServing {
		_ = s.clientLink.sock.SetReadDeadline(time.Now().Add(lingerTime))
	}
}
