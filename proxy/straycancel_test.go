package proxy

import (
	"io"
	"net"
	"testing"
	"time"

	"mbusproxy/proxy/wire"
)

// TestStrayCancels: the connection of a CancelRequest that is for none of the sessions stays open for a while, and is
// closed without a word.
func TestStrayCancels(t *testing.T) {
	p := start(t, how{}, nil)
	for _, body := range []string{"\x00\x00\x00\x01\x00\x00\x00\x01", "", "\x00\x00\x00\x01" + string(make([]byte, 300))} {
		c, err := net.Dial("tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := c.Write(packet(wire.CodeCancel, body)); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(c)
		if took := time.Since(began); len(answer) > 0 || err != nil || took < strayCancel {
			t.Errorf("with %d bytes: %q and %v after %v", len(body), answer, err, took)
		}
		_ = c.Close()
	}
}
