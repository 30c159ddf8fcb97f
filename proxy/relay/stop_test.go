package relay

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/wire"
)

// stoppingSocket has the session stopped at the moment when its read deadline is taken away.
type stoppingSocket struct {
	endpoint.Socket
	session *Session
	once    sync.Once
	stopped sync.WaitGroup
}

func (c *stoppingSocket) SetReadDeadline(at time.Time) error {
	if at.IsZero() {
		c.once.Do(func() {
			if c.session.mu.TryLock() {
				c.session.mu.Unlock()
				c.session.stop()
			} else { // it has to wait, and comes next
				c.stopped.Go(c.session.stop)
			}
		})
	}
	return c.Socket.SetReadDeadline(at)
}

// TestStopStays: that a session is to end now is not forgotten by one that has just been woken by a drain.
func TestStopStays(t *testing.T) {
	ends := make(chan net.Conn, 2)
	at := proxytest.Pretend(t, func(c net.Conn) {
		ends <- c
		var b [1]byte
		_, _ = c.Read(b[:])
	})
	pool := wire.NewBufferPool()
	dialled := func() *endpoint.Endpoint {
		c, err := net.Dial("tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		l, err := endpoint.New(c, pool)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	s := &Session{all: &Sessions{Grace: graceTime, log: zap.NewNop()}, client: dialled(), server: dialled()}
	s.ofGoroutines = &ofGoroutines{cancel: func() {}, roomy: make(chan struct{}, 1)}
	s.Down.Settings = new(atomic.Pointer[wire.Settings])
	s.Down.Txn = 'T' // busy
	hooked := &stoppingSocket{Socket: s.server.Socket, session: s}
	s.server.Socket = hooked
	done := make(chan struct{})
	go func() {
		s.serverToClient(nil)
		close(done)
	}()
	s.drain()
	select {
	case <-done:
		hooked.stopped.Wait()
	case <-time.After(proxytest.Patience):
		t.Error("the session goes on")
		_ = hooked.Close()
	}
}
