package proxy

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"
)

// TestYieldPort holds the kernel to what a handover relies on.
func TestYieldPort(t *testing.T) {
	lc := socketOptions{reusePort: true}.listenConfig()
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
	accepted := func(l *net.TCPListener) (count int) {
		t.Helper()
		for {
			_ = l.SetDeadline(time.Now().Add(300 * time.Millisecond))
			c, err := l.Accept()
			if err != nil {
				return count
			}
			_ = c.Close()
			count++
		}
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
	if got := accepted(first); got != n {
		t.Errorf("with nobody to yield to: %d of %d", got, n)
	}
	second := listen(address)
	if err := sharePort(raw(second)); err != nil {
		t.Fatal(err)
	}
	connect()
	one, two := accepted(first), accepted(second)
	if one == 0 || two == 0 || one+two != n {
		t.Errorf("shared: %d and %d", one, two)
	}
	if err := yieldPort(raw(first)); err != nil {
		t.Fatal(err)
	}
	connect()
	if one, two = accepted(first), accepted(second); two != n {
		t.Errorf("yielded: %d and %d", one, two)
	}
	_ = first.Close()
	connect()
	if got := accepted(second); got != n {
		t.Errorf("alone: %d of %d", got, n)
	}
	third := listen(address)
	if err := yieldPort(raw(second)); err != nil {
		t.Fatal(err)
	}
	connect()
	if two, three := accepted(second), accepted(third); three != n {
		t.Errorf("the next handover: %d and %d", two, three)
	}
}
