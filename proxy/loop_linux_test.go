package proxy

import (
	"strings"
	"testing"

	"mbusproxy/proxy/internal/proxytest"
)

// TestLoopFails: a loop that cannot wait for its sockets ends its sessions, and new ones go elsewhere.
func TestLoopFails(t *testing.T) {
	p := start(t, how{"loops", 2}, func(c *Config) { c.Log = nil })
	var all []*wireClient
	for range 6 {
		all = append(all, login(t, p.addr))
	}
	for _, w := range all {
		w.query("begin") // only after its answer the session is known to be in its loop
	}
	p.sessions.BreakLoop(0)
	proxytest.Eventually(t, "its sessions have ended", func() bool { return p.sessions.Census().Known == 3 })
	ended := 0
	for _, w := range all {
		w.fe.Send(proxytest.Query("select 'alive'"))
		_ = w.fe.Flush() // may fail
		switch got := w.toReadyOrEnd(); {
		case strings.Contains(got, "alive"):
		case strings.Contains(got, "58000"):
			ended++
		default:
			t.Error(got)
		}
	}
	if ended != 3 {
		t.Errorf("%d sessions were told", ended)
	}
	for range 4 {
		if got := login(t, p.addr).query("select 'new'"); !strings.Contains(got, "new") {
			t.Error(got)
		}
	}
	// Where no loop is left there are goroutines.
	p.sessions.BreakLoop(1)
	w := login(t, p.addr)
	if got := w.query("select 'new'"); !strings.Contains(got, "new") {
		t.Error(got)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// toReadyOrEnd reads up to ReadyForQuery or the end of the stream.
func (w *wireClient) toReadyOrEnd() string {
	var lines []string
	for {
		typ, text := w.receive()
		lines = append(lines, text)
		if typ == 0 || typ == 'Z' {
			return strings.Join(lines, "\n")
		}
	}
}
