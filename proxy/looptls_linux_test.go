package proxy

import (
	"bytes"
	"crypto/tls"
	"net"
	"strings"
	"testing"
)

// corked keeps what is written, while it is on, for one write at its end.
type corked struct {
	net.Conn
	on   bool
	kept bytes.Buffer
}

func (c *corked) Write(b []byte) (int, error) {
	if c.on {
		return c.kept.Write(b)
	}
	return c.Conn.Write(b)
}

// TestLoopRecordsHeldBack: of what one read of the socket gives, crypto/tls hands out a record at a
// time. A loop comes to all of them, also when it does not read the client while the Rewriter has a
// statement, and although no event follows.
func TestLoopRecordsHeldBack(t *testing.T) {
	const more = 20
	r := newHolding()
	p := start(t, how{"loops", 1}, func(c *Config) { c.Rewriter, c.TLS = r, shared.serverTLS() })
	w := dialWire(t, p.addr)
	w.write([]byte(sslRequest))
	var answer [1]byte
	if _, err := w.conn.Read(answer[:]); err != nil || answer[0] != 'S' {
		t.Fatalf("answer %q, %v", answer, err)
	}
	cork := &corked{Conn: w.conn}
	w.over(tls.Client(cork, shared.clientTLS()))
	w.startup("user", "postgres", "database", "postgres")
	w.until('Z')
	query := func(text string) { w.write(append([]byte{'Q', 0, 0, 0, byte(len(text) + 5)}, text+"\x00"...)) }
	cork.on = true
	query("select 'held' /*mbus4*/")
	for range more {
		query("select 'free'")
	}
	cork.on = false
	if _, err := cork.Conn.Write(cork.kept.Bytes()); err != nil {
		t.Fatal(err)
	}
	<-r.entered
	r.proceed <- struct{}{}
	for i := range more + 1 {
		want := "free"
		if i == 0 {
			want = "held"
		}
		if got := w.until('Z'); !strings.Contains(got, want) {
			t.Fatalf("reply %d: %s", i, got)
		}
	}
}
