package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/relay/life"
	"mbusproxy/proxy/wire"
)

// clientToServer is the goroutine of that direction. It reads until the client's stream ends or the connection is
// closed. What comes once nothing is forwarded any more is thrown away.
func (s *Session) clientToServer(ctx context.Context) {
	out := wire.Splicer{Pool: s.client.Pool}
	var thrownAway wire.Framer
	framer := &s.Up.Framer
	for {
		batch, err := s.client.ReadBatch(framer)
		if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
			// wakeClient has.
			_ = s.client.Socket.SetReadDeadline(time.Time{})
			batch, err = nil, nil
		}
		switch {
		case errors.Is(err, io.EOF):
			if framer != &thrownAway && s.Up.Awaits() {
				_, _ = s.forward(ctx, nil, &out, true)
				out.Free()
			}
			s.report(life.ClientEnded)
			return
		case err != nil:
			s.explain("client to server", fmt.Errorf("reading from client: %w", err))
			s.report(life.ClientLost)
			return
		}
		s.seen.read(&s.seen.fromClient, len(batch))
		if framer != &thrownAway {
			on, err := s.forward(ctx, batch, &out, false)
			out.Free()
			if err != nil {
				s.explain("client to server", err)
				s.report(life.Cut)
				return
			}
			if !on {
				framer = &thrownAway
			}
		}
		if batch != nil {
			s.client.DropBatch()
		}
	}
}

// forward feeds a batch and writes it to the server; what comes before the first statement for the
// Rewriter does not wait for its answer, unless waits is set. on is false when nothing more is to be forwarded.
func (s *Session) forward(ctx context.Context, batch []byte, out *wire.Splicer, waits bool) (on bool, err error) {
	if s.replication {
		out.Begin(batch)
		return s.expect(false) && s.toServer(out), nil
	}
	s.Up.Nonblocking = !waits
	for waited := false; ; waited = true {
		err := s.Up.Feed(ctx, s.backlog(), batch, out)
		full := errors.Is(err, wire.ErrFull)
		enough := errors.Is(err, pipeline.ErrEnough)
		if err != nil && !full && !enough && !errors.Is(err, pipeline.ErrMustWait) {
			return false, err
		}
		if !s.expect(err != nil) || !s.toServer(out) || s.Up.Terminated {
			return false, nil
		}
		s.Up.Settle()
		if err == nil {
			if waited && s.asked.Load() != 0 {
				s.wake() // perhaps nothing is outstanding now
			}
			return true, nil
		}
		batch = s.Up.TakeAside()
		s.Up.Nonblocking = full || enough && s.Up.Nonblocking
		if full && !s.awaitRoom(ctx) {
			return false, nil
		}
	}
}

// toServer writes what out holds; false means that the server does not take it. What it has said before is
// still for the client.
func (s *Session) toServer(out *wire.Splicer) bool {
	s.foresee()
	if s.server.Write(out.Result()) != nil {
		s.report(life.ServerRefused)
		return false
	}
	return true
}

// foresee sets provoked before a write to the server.
func (s *Session) foresee() {
	if is := !s.Up.AtBoundary(); is != s.provoked.Load() {
		s.provoked.Store(is)
	}
}

// serverToClient is the goroutine of that direction. It reads until the server's stream or the session ends.
func (s *Session) serverToClient(rest []byte) {
	out := wire.Splicer{Pool: s.server.Pool}
	on := len(rest) == 0 || s.deliver(rest, &out)
	for on {
		if e := s.asked.Load(); e != 0 {
			if s.reportDown(life.Event(e)); !s.readsServer() {
				return
			}
		}
		batch, err := s.server.ReadBatch(&s.Down.Framer)
		switch {
		case err == nil:
			s.seen.read(&s.seen.fromServer, len(batch))
			on = s.deliver(batch, &out)
			s.server.DropBatch()
		case errors.Is(err, os.ErrDeadlineExceeded):
			// wake has woken it, to look at asked. That comes next: a deadline set from now on wakes it again.
			_ = s.server.Socket.SetReadDeadline(time.Time{})
		default:
			if !errors.Is(err, io.EOF) {
				s.explain("server to client", fmt.Errorf("reading from server: %w", err))
			}
			s.Down.ServerEnded()
			s.reportDown(life.ServerEnded)
			return
		}
	}
}

// deliver forwards a batch to the client; false means that the session ends.
func (s *Session) deliver(batch []byte, out *wire.Splicer) bool {
	var failed error
	if s.replication {
		out.Begin(batch)
	} else {
		s.collect()
		failed = s.Down.Feed(batch, out)
		s.publish()
		if s.Down.Owes() {
			s.wakeClient()
		}
	}
	err := s.client.Write(out.Result())
	out.Free()
	if failed != nil {
		s.explain("server to client", failed)
	}
	switch {
	case err != nil:
		s.explain("server to client", fmt.Errorf("writing to client: %w", err))
		s.report(life.Cut)
	case failed != nil:
		s.reportDown(life.LostSync)
	default:
		return true
	}
	return false
}
