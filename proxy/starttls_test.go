package proxy

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/wire"
)

// TestHandshakesThatFail: a handshake that cannot succeed ends at once with an alert of TLS or without a word, one that
// stops ends with the time for startups; neither leaves anything behind, with TLS at once and after an SSLRequest.
func TestHandshakesThatFail(t *testing.T) {
	p := start(t, how{}, func(c *Config) { c.TLS, c.StartupTimeout = shared.serverTLS(), 4*time.Second })
	t.Run("all", func(t *testing.T) { handshakesThatFail(t, p) })
	proxytest.Eventually(t, "no startup is left", func() bool { return p.starting.Load() == 0 })
}

func handshakesThatFail(t *testing.T, p *running) {
	for _, request := range []string{"", sslRequest} {
		begin := func(t *testing.T) *wireClient {
			w := dialWire(t, p.addr)
			if request == "" {
				return w
			}
			w.write([]byte(request))
			var answer [1]byte
			if _, err := io.ReadFull(w.conn, answer[:]); err != nil || answer[0] != 'S' {
				t.Fatalf("answer %q, %v", answer, err)
			}
			return w
		}
		for name, change := range map[string]func(*tls.Config){
			"old version":   func(c *tls.Config) { c.MaxVersion, c.MinVersion = tls.VersionTLS10, tls.VersionTLS10 },
			"other ALPN":    func(c *tls.Config) { c.NextProtos = []string{"h2", "http/1.1"} },
			"client doubts": func(c *tls.Config) { c.RootCAs = nil },
		} {
			t.Run(name+" "+request, func(t *testing.T) {
				t.Parallel()
				w, conf := begin(t), shared.clientTLS()
				change(conf)
				err := tls.Client(w.conn, conf).Handshake()
				if err == nil {
					t.Fatal("the handshake succeeds")
				}
				if name != "client doubts" && !strings.Contains(err.Error(), "remote error: tls:") {
					t.Errorf("no alert: %v", err)
				}
				if _, err := io.Copy(io.Discard, w.conn); isTimeout(err) {
					t.Error("the connection stays open")
				}
			})
		}
		for name, send := range map[string]string{
			"nothing":            "",
			"half a record":      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
			"endless hello":      "\x16\x03\x01\x40\x00\x01\x00\xff\xff" + strings.Repeat("x", 1<<14-4),
			"no TLS":             "\x16GET / HTTP/1.1\r\n\r\n",
			"record too long":    "\x16\x03\x01\xff\xff" + strings.Repeat("x", 4096),
			"much of everything": "\x16\x03\x01\x40\x00\x01\x00\xff\xf0" + strings.Repeat("x", 1<<20),
		} {
			if request == "" && name == "nothing" {
				continue // oddstart_test.go
			}
			t.Run(name+" "+request, func(t *testing.T) {
				t.Parallel()
				w := begin(t)
				_, _ = w.conn.Write([]byte(send)) // the proxy may close before it has taken all
				got, err := io.ReadAll(w.conn)
				if isTimeout(err) {
					t.Error("the connection stays open")
				}
				if len(got) > 0 && got[0] != 0x15 { // an alert
					t.Errorf("got %q", got)
				}
			})
		}
	}
}

func isTimeout(err error) bool {
	failed, ok := err.(net.Error) //nolint:errorlint // as it comes from a socket
	return ok && failed.Timeout()
}

// TestMuchBeforeStartup: TLS records without content do not keep a connection in startup for ever, nor do they grow.
func TestMuchBeforeStartup(t *testing.T) {
	p := start(t, how{}, func(c *Config) { c.TLS, c.StartupTimeout = shared.serverTLS(), time.Hour })
	w := dialWire(t, p.addr)
	w.write([]byte(sslRequest))
	var answer [1]byte
	if _, err := io.ReadFull(w.conn, answer[:]); err != nil {
		t.Fatal(err)
	}
	raw := w.conn
	secured := tls.Client(raw, shared.clientTLS())
	if err := secured.Handshake(); err != nil {
		t.Fatal(err)
	}
	_ = secured.SetDeadline(time.Now().Add(proxytest.Patience))
	// The largest startup packet but one byte, in records of one byte each.
	largest := packet(3<<16, "user\x00postgres\x00_pq_.x\x00"+strings.Repeat("x", wire.MaxStartupPacket-8-len("user.postgres._pq_.x..."))+"\x00\x00")
	if len(largest) != wire.MaxStartupPacket {
		t.Fatal(len(largest))
	}
	for _, b := range largest[:len(largest)-1] {
		if _, err := secured.Write([]byte{b}); err != nil {
			break
		}
	}
	if _, err := io.Copy(io.Discard, raw); isTimeout(err) {
		t.Error("the connection stays open")
	}
	proxytest.Eventually(t, "no startup is left", func() bool { return p.starting.Load() == 0 })
}

// TestCancelWithinDirectTLS: libpq 17 sends cancel requests in the same way as it connects.
func TestCancelWithinDirectTLS(t *testing.T) {
	p := start(t, how{}, func(c *Config) { c.TLS = shared.serverTLS() })
	admin := login(t, shared.address())
	s := startSleeper(t, p.addr, true, 0, admin)
	for i, key := range [][]byte{bytes.Repeat([]byte{1}, 8), []byte(s.key)} {
		w := dialWire(t, p.addr)
		w.over(tls.Client(w.conn, shared.clientTLS()))
		w.write(wire.CancelKey(key).Request())
		if got := readAll(t, w.conn); len(got) > 0 {
			t.Errorf("answer %q", got)
		}
		if i == 0 && !s.sleeps(admin) {
			t.Error("cancelled by another key")
		}
	}
	s.toReady()
	if !strings.Contains(s.transcript(), "57014") {
		t.Error(s.transcript())
	}
}
