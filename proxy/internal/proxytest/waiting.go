package proxytest

import (
	"net"
	"testing"
	"time"
)

// Patience bounds every wait of a test. Nothing waits that long unless it fails: the machine may be twenty times as slow
// as it is alone.
const Patience = 4 * time.Minute

// Eventually polls until ok, which must become true.
func Eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("timeout waiting for: %s", what)
		}
		<-tick.C
	}
}

// Received is what comes on c. The test fails if nothing has come within Patience.
func Received[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(Patience):
		t.Fatal("timeout waiting for a signal of the test")
		panic("unreachable")
	}
}

// Pretend listens on loopback until the test ends and leaves each connection to answer, in a goroutine of its
// own. answer need not close it.
func Pretend(t *testing.T, answer func(net.Conn)) *net.TCPAddr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				answer(conn)
			}()
		}
	}()
	return l.Addr().(*net.TCPAddr)
}
