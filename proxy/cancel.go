package proxy

import (
	"context"
	"io"
	"sync"
	"time"

	"go.uber.org/zap"
)

// knows reports whether a CancelRequest is for one of the sessions.
func (s *Server) knows(p startupPacket) bool {
	if len(p) < minCancel || len(p) > maxCancel {
		return false
	}
	_, ok := s.sessions.serverOf(cancelKey(p[8:]))
	return ok
}

// cancel forwards a CancelRequest and returns when the server has closed the connection: by then
// it has sent the signal, and the client may take our closing for that. A request that matches no
// session is dropped without a word, as the server does.
func (s *Server) cancel(ctx context.Context, p startupPacket) {
	if len(p) < minCancel || len(p) > maxCancel {
		return
	}
	key := cancelKey(p[8:])
	at, ok := s.sessions.serverOf(key)
	if !ok {
		return
	}
	if s.sessions.cancelHeld(ctx, key) {
		return
	}
	c, err := at.dial(ctx, 0, s.pool, false)
	if err != nil {
		s.log.Warn("cancel request could not be forwarded", zap.Error(err))
		return
	}
	defer c.link.close()
	stop := context.AfterFunc(ctx, c.link.interrupt)
	defer stop()
	if err := c.link.write(p); err != nil {
		s.log.Warn("cancel request could not be forwarded", zap.Error(err))
		return
	}
	_, _ = io.Copy(io.Discard, c.link.conn)
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
	for _, key := range s.sessions.keys() {
		sending.Go(func() {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			defer func() { <-slots }()
			s.cancel(ctx, key.request())
		})
	}
	sending.Wait()
}
