package proxy

import (
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestSocketOptions looks at the sockets of a session, towards the client and towards the server.
func TestSocketOptions(t *testing.T) {
	for _, c := range []struct {
		name                       string
		keepAlive, user            time.Duration
		on, idle, interval, userMS int
	}{
		{"default", 0, 0, 1, 60, 15, 0},
		{"set", 20 * time.Second, 90 * time.Second, 1, 20, 5, 90_000},
		{"off", -1, 0, 0, -1, -1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, way how) {
				p := start(t, way, func(cfg *Config) { cfg.KeepAlive, cfg.UserTimeout = c.keepAlive, c.user })
				w := login(t, p.addr)
				w.query("select 1") // by then the session is where it stays
				for name, fd := range p.descriptors(t, w) {
					get := func(level, option int) int {
						t.Helper()
						v, err := syscall.GetsockoptInt(fd, level, option)
						if err != nil {
							t.Fatal(err)
						}
						return v
					}
					if got := get(syscall.SOL_SOCKET, syscall.SO_KEEPALIVE); got != c.on {
						t.Errorf("%s: SO_KEEPALIVE is %d", name, got)
					}
					if got := get(syscall.IPPROTO_TCP, 0x12 /* TCP_USER_TIMEOUT */); got != c.userMS {
						t.Errorf("%s: TCP_USER_TIMEOUT is %d", name, got)
					}
					if c.on == 0 {
						continue
					}
					idle, interval, count := get(syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE),
						get(syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL), get(syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT)
					if idle != c.idle || interval != c.interval || count != 4 {
						t.Errorf("%s: idle %d, interval %d, count %d", name, idle, interval, count)
					}
				}
			})
		})
	}
}

// descriptors are those of the only session: the sockets of this process that lead to the client
// and to the server, found by their peers' addresses.
func (r *running) descriptors(t *testing.T, w *wireClient) map[string]int {
	t.Helper()
	ports := map[int]string{w.conn.LocalAddr().(*net.TCPAddr).Port: "client", shared.cluster.Port(): "server"}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	fds := map[string]int{}
	for _, e := range entries {
		fd, _ := strconv.Atoi(e.Name())
		if a, err := syscall.Getpeername(fd); err == nil {
			if a, ok := a.(*syscall.SockaddrInet4); ok && ports[a.Port] != "" {
				fds[ports[a.Port]] = fd
			}
		}
	}
	if len(fds) != 2 {
		t.Fatalf("found %v", fds)
	}
	return fds
}
