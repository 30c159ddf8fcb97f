package relay

import (
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/memory"
	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/wire"
)

// TestBusyConnectionsTakeTurns: between two waits of a loop all that are not busy are read, and of the busy ones only
// one, in turn, and only a little.
func TestBusyConnectionsTakeTurns(t *testing.T) {
	const sessions, rounds = 16, 3
	pool := wire.NewBufferPool()
	all := NewSessions(zap.NewNop(), pool, 1)
	if err := all.Serve(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		all.End()
		all.Stop()
		all.Close()
	})
	ends := make(chan net.Conn)
	at := proxytest.Pretend(t, func(c net.Conn) {
		ends <- c
		_, _ = io.Copy(io.Discard, c)
	})
	// pair returns an endpoint, and the connection to it.
	pair := func() (*endpoint.Endpoint, net.Conn) {
		c, err := net.Dial("tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		e, err := endpoint.New(c, pool)
		if err != nil {
			t.Fatal(err)
		}
		return e, <-ends
	}
	var busy []*Session
	// What quiet sends is less than the busy ones have sent before.
	var quiet *Session
	for i := range sessions + 1 {
		client, conn := pair()
		s, err := all.Admit(client, true, 0)
		if err != nil {
			t.Fatal(err)
		}
		s.server, _ = pair()
		if !all.Launch(s, nil) {
			t.Fatal("not launched")
		}
		if i < sessions {
			busy = append(busy, s)
		} else {
			quiet = s
		}
		sent := make([]byte, 2*rounds*leastRead)
		all.loops.all[0].post(func() {
			s.looped.client.want(false) // until all have sent
			if _, err := conn.Write(sent); err != nil {
				t.Error(err)
			}
		})
	}
	l, done := all.loops.all[0], make(chan struct{})
	l.post(func() {
		for _, s := range append(busy, quiet) {
			proxytest.Eventually(t, "all has come", func() bool { return pending(s.looped.client.fd) == 2*rounds*leastRead })
			s.looped.watch()
		}
		waits := 0
		before := make([]uint64, sessions)
		l.wait = func(events []syscall.EpollEvent) (int, error) {
			var read []int
			for i, s := range busy {
				s.looped.client.slow() // their bytes are handled quickly here
				if n := s.seen.fromClient.Load() - before[i]; n > leastRead {
					t.Errorf("%d bytes are read in a turn", n)
				} else if n > 0 {
					read = append(read, i)
				}
				before[i] = s.seen.fromClient.Load()
			}
			switch {
			case waits > 0 && len(read) != 1:
				t.Errorf("%d busy connections are read between two waits", len(read))
			case waits == 1 && quiet.seen.fromClient.Load() != 2*rounds*leastRead:
				t.Error("one that is not busy waits for those that are")
			case waits == rounds*sessions:
				for i, n := range before {
					if n != rounds*leastRead {
						t.Errorf("%d bytes of connection %d are read after %d turns of each", n, i, rounds)
					}
				}
				l.wait = l.await
				close(done)
			}
			waits++
			return l.await(events)
		}
	})
	proxytest.Received(t, done)
}

// TestTurnAndMemory: a session gives back what it has of a long message also where that is asked for while a goroutine has it, though its client sends nothing more.
func TestTurnAndMemory(t *testing.T) {
	pool := wire.NewBufferPool()
	all := NewSessions(zap.NewNop(), pool, 1)
	now := time.Now()
	all.Long = memory.NewLongMessages(4 * memory.LongMessageStep)
	all.Long.SetClock(func() time.Time { return now })
	if err := all.Serve(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		all.End()
		all.Stop()
		all.Close()
	})
	ends := make(chan net.Conn, 1)
	at := proxytest.Pretend(t, func(c net.Conn) {
		ends <- c
		_, _ = io.Copy(io.Discard, c)
	})
	pair := func() (*endpoint.Endpoint, net.Conn) {
		c, err := net.Dial("tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		e, err := endpoint.New(c, pool)
		if err != nil {
			t.Fatal(err)
		}
		return e, <-ends
	}
	client, conn := pair()
	s, err := all.Admit(client, false, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.server, _ = pair()
	s.Begin(pipeline.SessionInfo{Rewriter: proxytest.Marking{}, Txn: 'I'})
	if !all.Launch(s, nil) {
		t.Fatal("not launched")
	}
	l := all.loops.all[0]
	inLoop := func(f func() bool) bool {
		answer := make(chan bool)
		l.post(func() { answer <- f() })
		return proxytest.Received(t, answer)
	}
	text := "Q\x00\x01\x00\x00select mbus4.x('" + strings.Repeat("z", 48<<10) // of 64 KiB
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	proxytest.Eventually(t, "some of the message is kept", func() bool {
		return all.Long.Unused() < 4*memory.LongMessageStep && inLoop(func() bool { return int(s.seen.fromClient.Load()) == len(text) && !s.looped.rewriting })
	})
	inLoop(func() bool { s.looped.rewriting = true; return true })
	s.looped.feedAside(func(*wire.Splicer) error {
		now = now.Add(2 * memory.LongMessageStale)
		other := all.Long.Share("", func() { t.Error("woken") })
		if other.Grow(4 * memory.LongMessageStep) {
			t.Error("there is room for all")
		}
		inLoop(func() bool { return true }) // what the session was told has come
		return nil
	}, func() {})
	proxytest.Eventually(t, "memory is given back", func() bool { return all.Long.Unused() == 4*memory.LongMessageStep })
}

// TestPace: reads get shorter where what they bring takes long, but not too short, and longer again.
func TestPace(t *testing.T) {
	var p pace
	buf := make([]byte, loopBuffer)
	for _, step := range []struct {
		n    int
		took time.Duration
		want int // bytes that the next read may take
	}{
		{loopBuffer, turnTime, loopBuffer},
		{loopBuffer, 4 * turnTime, loopBuffer / 4},
		{loopBuffer / 4, turnTime / 2, loopBuffer / 4},
		{loopBuffer / 4, 1000 * turnTime, leastRead},
		{leastRead - 1, 0, leastRead},
		{leastRead, 0, 2 * leastRead},
		{2 * leastRead, 0, 4 * leastRead},
		{4 * leastRead, 0, 8 * leastRead},
		{8 * leastRead, 0, loopBuffer},
	} {
		p.took(step.n, step.took)
		if got := len(p.part(buf)); got != step.want {
			t.Errorf("after %d bytes in %v reads take %d, want %d", step.n, step.took, got, step.want)
		}
	}
	p.slow()
	for n := 0; p.busy(); n++ {
		if n > 50 {
			t.Fatal("a connection that has sent little for long is still busy")
		}
		p.end(1, p.start(1))
	}
}

// pending is how many bytes can be read from a socket.
func pending(fd int) int {
	buf := make([]byte, loopBuffer)
	n, _, _ := syscall.Recvfrom(fd, buf, syscall.MSG_PEEK)
	return n
}
