package proxy

import (
	"context"
	"io"
	"sync"
	"time"

	"go.uber.org/zap"

	"mbusproxy/proxy/upstream"
	"mbusproxy/proxy/wire"
)

// knows reports whether a CancelRequest is for one of the sessions.
func (s *Server) knows(p wire.StartupPacket) bool {
	s.counts.cancelRequests.Add(1)
	if len(p) < wire.MinCancel || len(p) > wire.MaxCancel {
		return false
	}
	_, ok := s.sessions.ServerOf(wire.CancelKey(p[8:]))
	if ok {
		s.counts.cancels.Add(1)
	}
	return ok
}

// strayCancel is how long the connection of a CancelRequest that matches no session stays open: who makes them without end would
// have thousands a second, which take the processor from others.
const strayCancel = 100 * time.Millisecond

// stray keeps the connection of such a CancelRequest.
func (s *Server) stray(ctx context.Context) {
	select {
	case <-time.After(strayCancel):
	case <-ctx.Done():
	}
}

// cancel forwards a CancelRequest and returns when the server has closed the connection: by then
// it has sent the signal, and the client may take our closing for that. A request that matches no
// session is dropped without a word, as the server does.
func (s *Server) cancel(ctx context.Context, p wire.StartupPacket) {
	key := wire.CancelKey(p[8:])
	at, ok := s.sessions.ServerOf(key)
	if !ok {
		return
	}
	request := s.sessions.Cancel(key)
	for send, again := request.Next(ctx); send; send, again = request.Next(ctx) {
		s.sendCancel(ctx, at, p)
		if !again {
			return
		}
	}
}

// sendCancel sends a CancelRequest to the server, and returns when that has closed the connection.
func (s *Server) sendCancel(ctx context.Context, at upstream.Target, p wire.StartupPacket) {
	c, err := at.Dial(ctx, 0, s.pool, false)
	if err != nil {
		s.log.Warn("cancel request could not be forwarded", zap.Error(err))
		return
	}
	defer c.Endpoint.Close()
	stop := context.AfterFunc(ctx, c.Endpoint.Interrupt)
	defer stop()
	if err := c.Endpoint.Write(p); err != nil {
		s.log.Warn("cancel request could not be forwarded", zap.Error(err))
		return
	}
	_, _ = io.Copy(io.Discard, c.Endpoint.Conn)
}

const (
	cancelTime = 2 * time.Second // what cancelling all sessions may take
	cancelsOut = 32              // requests under way at a time: each makes the server fork
)

// cancelAll sends a CancelRequest for each session that is left at the end of a drain: the server
// would not notice before its next reply that nobody is there any more. A session that runs
// nothing takes no harm.
func (s *Server) cancelAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	var sending sync.WaitGroup
	slots := make(chan struct{}, cancelsOut)
	for _, key := range s.sessions.Keys() {
		sending.Go(func() {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			defer func() { <-slots }()
			s.cancel(ctx, key.Request())
		})
	}
	sending.Wait()
}
