package proxy

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/wire"
)

// TestServerEndsSilently: a server that is killed says nothing; the client hears it from the proxy,
// but for one that has said goodbye itself.
func TestServerEndsSilently(t *testing.T) {
	server := proxytest.Pretend(t, func(c net.Conn) {
		var b [512]byte
		_, _ = c.Read(b[:])
		_, _ = c.Write([]byte("R\x00\x00\x00\x08\x00\x00\x00\x00Z\x00\x00\x00\x05I"))
		if _, _ = c.Read(b[:]); b[0] == wire.MsgQuery {
			_, _ = c.Write([]byte("T\x00\x00\x00\x06\x00\x00"))
		}
	})
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) {
			c.Upstream = fmt.Sprintf("host=127.0.0.1 port=%d sslmode=disable", server.Port)
		})
		w := login(t, p.addr)
		w.send(&pgproto3.Query{String: "select 1"})
		got := w.toEnd()
		if !strings.Contains(got, "FATAL 57P01") || !strings.Contains(got, "closed it unexpectedly") {
			t.Error(got)
		}
		leaving := login(t, p.addr)
		leaving.send(&pgproto3.Terminate{})
		if got := leaving.toEnd(); strings.Contains(got, "57P01") {
			t.Error(got)
		}
	})
}
