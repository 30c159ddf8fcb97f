package listen

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"

	"mbusproxy/proxy/internal/proxytest"
)

// TestYieldPort holds the kernel to what a handover relies on.
func TestYieldPort(t *testing.T) {
	lc := Options{reusePort: true}.listenConfig()
	listen := func(address string) *net.TCPListener {
		t.Helper()
		l, err := lc.Listen(context.Background(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l.(*net.TCPListener)
	}
	raw := func(l *net.TCPListener) syscall.RawConn {
		t.Helper()
		c, err := l.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const n = 100
	var address string
	connect := func() {
		t.Helper()
		for range n {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
		}
	}
	// accepted takes the n connections, wherever they are, and counts those of each listener.
	accepted := func(ls ...*net.TCPListener) []int {
		t.Helper()
		counts := make([]int, len(ls))
		total := 0
		proxytest.Eventually(t, "all connections are there", func() bool {
			for i, l := range ls {
				_ = l.SetDeadline(time.Now().Add(10 * time.Millisecond))
				for {
					c, err := l.Accept()
					if err != nil {
						break
					}
					_ = c.Close()
					counts[i]++
					total++
				}
			}
			return total >= n
		})
		return counts
	}
	first := listen("127.0.0.1:0")
	address = first.Addr().String()
	if err := sharePort(raw(first)); err != nil {
		t.Errorf("with no filter: %v", err)
	}
	if err := yieldPort(raw(first)); err != nil {
		t.Fatal(err)
	}
	connect()
	if got := accepted(first)[0]; got != n {
		t.Errorf("with nobody to yield to: %d of %d", got, n)
	}
	second := listen(address)
	if err := sharePort(raw(second)); err != nil {
		t.Fatal(err)
	}
	connect()
	if got := accepted(first, second); got[0] == 0 || got[1] == 0 {
		t.Errorf("shared: %v", got)
	}
	if err := yieldPort(raw(first)); err != nil {
		t.Fatal(err)
	}
	connect()
	if got := accepted(first, second); got[1] != n {
		t.Errorf("yielded: %v", got)
	}
	_ = first.Close()
	connect()
	if got := accepted(second)[0]; got != n {
		t.Errorf("alone: %d of %d", got, n)
	}
	third := listen(address)
	if err := yieldPort(raw(second)); err != nil {
		t.Fatal(err)
	}
	connect()
	if got := accepted(second, third); got[1] != n {
		t.Errorf("the next handover: %v", got)
	}
}
