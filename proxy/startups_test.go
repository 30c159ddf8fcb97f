package proxy

import (
	"crypto/tls"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/startup"
)

// floodFrom opens n connections from an address of the loopback network, sends each the bytes, and keeps it open until
// the test ends. What happens to them is not looked at.
func floodFrom(t *testing.T, source, addr string, n int, send []byte) []net.Conn {
	t.Helper()
	dialer := net.Dialer{Timeout: proxytest.Patience, LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	conns := make([]net.Conn, 0, n)
	t.Cleanup(func() {
		for _, c := range conns {
			_ = c.Close()
		}
	})
	for range n {
		c, err := dialer.DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(send)
		conns = append(conns, c)
	}
	return conns
}

// residentMiB is the memory of this process: the proxy's and the test's.
func residentMiB(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc here: ", err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(b))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize() >> 20
}

// TestSilentStartups: 3,000 connections that say nothing, 500 that stop within a TLS handshake,
// 2,200 with a large one, and somebody who logs in beside them, from another address and from the
// same one. The silent ones do not add up beyond the bound, and one session that was there before
// notices nothing.
func TestSilentStartups(t *testing.T) {
	raiseFileLimit(t)
	p := start(t, how{}, func(c *Config) { c.TLS, c.StartupTimeout, c.MaxConnections = shared.serverTLS(), time.Minute, 5 })
	before := login(t, p.addr)
	runtime.GC()
	empty := residentMiB(t)
	floodFrom(t, "127.0.0.7", p.addr, 2000, nil)
	floodFrom(t, "127.0.0.7", p.addr, 1000, []byte("\x00\x00\x27\x10\x00\x03"))
	hello := "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" // of 512 bytes
	floodFrom(t, "127.0.0.7", p.addr, 500, []byte(sslRequest+hello))
	big := "\x16\x03\x01\x40\x00\x01\x00\xff\xff" // of 64 KiB, in records of 16 KiB
	floodFrom(t, "127.0.0.7", p.addr, 2200, []byte(big+strings.Repeat("x", 15000)))
	for _, source := range []string{"127.0.0.8", "127.0.0.7"} {
		w := loginFrom(t, source, p.addr)
		if got := w.query("select 'in'"); !strings.Contains(got, "in") {
			t.Error(got)
		}
	}
	if got := before.query("select 'still here'"); !strings.Contains(got, "still here") {
		t.Error(got)
	}
	if n := p.starting.Load(); n > startup.MaxStartups+1 {
		t.Errorf("%d startups under way", n)
	}
	grown := residentMiB(t) - empty
	t.Logf("%d MiB more than before", grown)
	if limit := 128 * raceFactor; grown > limit {
		t.Errorf("%d MiB more than before, beyond %d", grown, limit)
	}
}

// TestTooManyWithTLS: who asks for TLS first is told under TLS.
func TestTooManyWithTLS(t *testing.T) {
	p := start(t, how{}, func(c *Config) { c.MaxConnections, c.TLS = 1, shared.serverTLS() })
	login(t, p.addr)
	w := dialWire(t, p.addr)
	w.write([]byte(sslRequest))
	var answer [1]byte
	if _, err := w.conn.Read(answer[:]); err != nil || answer[0] != 'S' {
		t.Fatalf("answer %q, %v", answer, err)
	}
	w.over(tls.Client(w.conn, shared.clientTLS()))
	w.startup("user", "postgres")
	if got := w.toEnd(); !strings.Contains(got, "FATAL 53300") {
		t.Error(got)
	}
}
