package listen

import (
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInherited: connections of a socket that another process listens on have the options of our
// own, and closing the listener leaves the socket to that process, with what is in its queue.
func TestInherited(t *testing.T) {
	t.Parallel()
	var plain net.ListenConfig
	plain.SetMultipathTCP(false) // as systemd's sockets are
	manager, err := plain.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file, err := manager.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = manager.Close(), file.Close() })
	connect := func() {
		t.Helper()
		conn, err := net.Dial("tcp", manager.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	passed, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	taken, err := Inherited([]net.Listener{passed}, NewOptions(77*time.Second, 5*time.Second, true))
	if err != nil {
		t.Fatal(err)
	}
	connect()
	conn, err := taken[0].Accept()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for option, want := range map[int]int{syscall.TCP_KEEPIDLE: 77, tcpUserTimeout: 5000} {
		var got int
		if err := raw.Control(func(fd uintptr) { got, _ = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, option) }); err != nil || got != want {
			t.Errorf("option %d is %d, want %d: %v", option, got, want, err)
		}
	}
	_ = conn.Close()
	connect()
	_ = taken[0].Close()
	if conn, err = manager.Accept(); err != nil {
		t.Errorf("what was in the queue is gone: %v", err)
	} else {
		_ = conn.Close()
	}
}

func TestSockets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		listen []string
		want   []Socket
	}{
		{[]string{dir}, []Socket{{"unix", filepath.Join(dir, ".s.PGSQL.5432")}}},
		{[]string{dir, "localhost:6432", ":7"}, []Socket{{"unix", filepath.Join(dir, ".s.PGSQL.6432")}, {"tcp", "localhost:6432"}, {"tcp", ":7"}}},
	} {
		if got, err := Sockets(c.listen); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: got %v and %v, want %v", c.listen, got, err, c.want)
		}
	}
	for _, wrong := range []string{"6432", "localhost:no-such-port"} {
		if _, err := Sockets([]string{wrong}); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
