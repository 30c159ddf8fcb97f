package proxy

import (
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
				login(t, p.addr).query("select 1") // by then the session is where it stays
				for name, fd := range p.descriptors() {
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
					if got := get(syscall.IPPROTO_TCP, tcpUserTimeout); got != c.userMS {
						t.Errorf("%s: TCP_USER_TIMEOUT is %d", name, got)
					}
					if c.on == 0 {
						continue
					}
					idle, interval, count := get(syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE),
						get(syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL), get(syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT)
					if idle != c.idle || interval != c.interval || count != keepAliveProbes {
						t.Errorf("%s: idle %d, interval %d, count %d", name, idle, interval, count)
					}
				}
			})
		})
	}
}

// descriptors are those of the only session.
func (s *Server) descriptors() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sess := range s.sessions.all {
		if ln := sess.lanes; ln != nil {
			return map[string]int{"client": ln.client.fd, "server": ln.server.fd}
		}
		fds := map[string]int{}
		for name, l := range map[string]*link{"client": sess.clientLink, "server": sess.serverLink} {
			_ = l.raw.Control(func(fd uintptr) { fds[name] = int(fd) })
		}
		return fds
	}
	return nil
}
