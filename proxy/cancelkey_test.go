package proxy

import (
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/wire"
)

// minorSleeper is a session of a minor that runs a query without end.
type minorSleeper struct {
	*byteClient
	pid uint32
}

func startSleeper(t *testing.T, addr string, secure bool, minor uint32, admin *wireClient) minorSleeper {
	t.Helper()
	c := dialBytes(t, addr, secure)
	c.user = "postgres"
	c.login(wire.ProtocolMajor<<16|minor, "")
	if len(c.key) != 4+keySize(minor) {
		t.Fatalf("key data of %d bytes in a session of 3.%d", len(c.key), minor)
	}
	s := minorSleeper{c, binary.BigEndian.Uint32([]byte(c.key))}
	c.write(wire.AppendFrame(nil, wire.MsgQuery, []byte("select pg_sleep(3600)\x00")))
	proxytest.Eventually(t, "the query runs", func() bool { return s.sleeps(admin) })
	return s
}

// sleeps asks the server whether the query runs.
func (s minorSleeper) sleeps(admin *wireClient) bool {
	return strings.Contains(admin.query(fmt.Sprintf("select wait_event from pg_stat_activity where pid = %d", s.pid)), "PgSleep")
}

// sendCancelRequest sends a packet in one connection and reads to its end.
func sendCancelRequest(t *testing.T, addr string, secure bool, p []byte) []byte {
	t.Helper()
	c := dialBytes(t, addr, secure)
	defer c.conn.Close()
	c.write(p)
	return readAll(t, c.conn)
}

// TestCancelKeys: a cancel request ends the query of the session whose whole key it holds and of no other, whatever the
// size of the key. One that is anything else ends nothing, is not answered and leaves nothing behind.
func TestCancelKeys(t *testing.T) {
	admin := login(t, shared.address())
	eachWay(t, func(t *testing.T, way how) {
		for _, mode := range []string{"disable", "require"} {
			for _, secure := range []bool{false, true} {
				for _, minor := range []uint32{0, 2, 9999} {
					t.Run(fmt.Sprintf("server sslmode=%s, client TLS %t, 3.%d", mode, secure, minor), func(t *testing.T) {
						_ = admin.conn.SetDeadline(time.Now().Add(proxytest.Patience))
						p := start(t, way, func(c *Config) { c.Upstream, c.TLS = shared.upstream("sslmode="+mode), shared.serverTLS() })
						sleepers := []minorSleeper{
							startSleeper(t, p.addr, secure, minor, admin),
							startSleeper(t, p.addr, secure, minor, admin),
							startSleeper(t, p.addr, secure, 0, admin),
						}
						goroutines := runtime.NumGoroutine()
						victim, other := sleepers[1].key, sleepers[0].key
						wrong := make(map[string]net.Conn)
						for name, key := range wrongKeys(victim, other) {
							c := dialBytes(t, p.addr, secure)
							c.write(key.Request())
							wrong[name] = c.conn
						}
						for name, conn := range wrong { // which the proxy keeps for a while
							if got := readAll(t, conn); len(got) > 0 {
								t.Errorf("%s: answer %q", name, got)
							}
							_ = conn.Close()
						}
						broken := victim.Request()
						broken = broken[:len(broken)-1] // and says that there is more
						c := dialBytes(t, p.addr, false)
						c.write(broken)
						if err := c.conn.(*net.TCPConn).CloseWrite(); err != nil {
							t.Error(err)
						}
						if got := readAll(t, c.conn); len(got) > 0 {
							t.Errorf("half a request: answer %q", got)
						}
						_ = c.conn.Close()
						proxytest.Eventually(t, "goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines })
						for i, s := range sleepers {
							if !s.sleeps(admin) {
								t.Errorf("session %d was cancelled", i)
							}
						}
						if got := sendCancelRequest(t, p.addr, secure, victim.Request()); len(got) > 0 {
							t.Errorf("answer to a cancel request: %q", got)
						}
						sleepers[1].toReady()
						if got := sleepers[1].transcript(); !strings.Contains(got, "C57014") {
							t.Error(got)
						}
						sleepers[1].run("select 'goes on'")
						if got := sleepers[1].transcript(); !strings.Contains(got, "goes on") {
							t.Error(got)
						}
						for _, i := range []int{0, 2} {
							if !sleepers[i].sleeps(admin) {
								t.Errorf("session %d was cancelled with another's key", i)
							}
						}
						for _, s := range sleepers {
							_ = s.conn.Close()
						}
						// Like the server, the proxy does not cancel what a client left behind.
						asSuperuser(t, fmt.Sprintf("select pg_terminate_backend(pid) from pg_stat_activity where pid in (%d, %d)", sleepers[0].pid, sleepers[2].pid))
						proxytest.Eventually(t, "the keys are forgotten", func() bool {
							return p.sessions.Census().Keys == 0
						})
					})
				}
			}
		}
	})
}

// wrongKeys are bodies of cancel requests made of the key data of two sessions; none of them is one of both.
func wrongKeys(victim, other wire.CancelKey) map[string]wire.CancelKey {
	pid, secret := victim[:4], victim[4:]
	flipped := func(i int) wire.CancelKey {
		b := []byte(victim)
		b[i] ^= 1
		return wire.CancelKey(b)
	}
	keys := map[string]wire.CancelKey{
		"first byte":            flipped(4),
		"last byte":             flipped(len(victim) - 1),
		"another process":       flipped(3),
		"another session's key": pid + other[4:],
		"nothing":               "",
		"no key":                pid,
		"3 bytes":               pid + secret[:3],
		"one byte less":         victim[:len(victim)-1],
		"one byte more":         victim + "\x00",
		"zeros behind":          victim + wire.CancelKey(make([]byte, 256-len(secret))),
		"twice":                 victim + secret,
		"257 bytes":             victim + wire.CancelKey(make([]byte, 257-len(secret))),
		"the longest packet":    victim + wire.CancelKey(make([]byte, wire.MaxStartupPacket-8-len(victim))),
	}
	if len(secret) > 4 {
		keys["its first 4 bytes"] = victim[:8]
		keys["its last 4 bytes"] = pid + secret[len(secret)-4:]
		keys["its first 31 bytes and another"] = victim[:len(victim)-1] + wire.CancelKey([]byte{secret[len(secret)-1] ^ 0x80})
	}
	for name, key := range keys {
		if slices.Contains([]wire.CancelKey{victim, other}, key) {
			panic(name + " is a right key")
		}
	}
	return keys
}

// TestDrainCancelsLongKeys: what the proxy cuts off at the end of a drain it cancels with the session's own key.
func TestDrainCancelsLongKeys(t *testing.T) {
	admin := login(t, shared.address())
	for _, mode := range []string{"disable", "require"} {
		p := start(t, how{}, func(c *Config) {
			c.Upstream, c.DrainTimeout = shared.upstream("sslmode="+mode), 50*time.Millisecond
		})
		s := startSleeper(t, p.addr, false, 2, admin)
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		proxytest.Eventually(t, "the backend has ended", backendGone(t, admin, s.pid))
	}
}
