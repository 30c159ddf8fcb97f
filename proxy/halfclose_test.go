package proxy

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
)

// TestHalfClose: a client may end its sending after its last message and read what the server says to it, as
// without the proxy. Nothing is added at the end.
func TestHalfClose(t *testing.T) {
	direct := fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port())
	ways := map[string]func(w *wireClient){
		"FIN":          func(w *wireClient) { _ = w.conn.(*net.TCPConn).CloseWrite() },
		"close_notify": func(w *wireClient) { _ = w.conn.(*tls.Conn).CloseWrite() },
		"FIN below TLS": func(w *wireClient) {
			_ = w.conn.(*tls.Conn).NetConn().(*net.TCPConn).CloseWrite()
		},
	}
	said := func(addr string, secure bool, close func(w *wireClient), m ...pgproto3.FrontendMessage) string {
		w := dialWire(t, addr)
		if secure {
			overTLS(w)
		}
		w.startup("user", "postgres", "database", "postgres")
		w.until('Z')
		w.send(m...)
		close(w)
		b, err := io.ReadAll(w.conn)
		if err != nil {
			return fmt.Sprintf("%q, %v", b, err)
		}
		return fmt.Sprintf("%q", b)
	}
	eachWay(t, func(t *testing.T, way how) {
		for _, mode := range []string{"disable", "require"} {
			p := start(t, way, func(c *Config) {
				c.Rewriter, c.TLS, c.Upstream = proxytest.Marking{}, shared.serverTLS(), shared.upstream("sslmode="+mode)
			})
			for name, close := range ways {
				for what, m := range map[string][]pgproto3.FrontendMessage{
					"Query": proxytest.Messages(proxytest.Query("select 'last'")), "call": proxytest.Messages(proxytest.Query("select 'last' /*mbus4*/")),
					"long":     proxytest.Messages(proxytest.Query("select repeat('x', 1000), pg_sleep(0.1)")),
					"extended": proxytest.Messages(proxytest.Parse("", "select 'last'"), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
					"no Sync":  proxytest.Messages(proxytest.Parse("", "select 'last'"), proxytest.Bind("", ""), proxytest.Execute("")),
					"nothing":  nil,
				} {
					t.Run(fmt.Sprintf("%s, %s, server %s", name, what, mode), func(t *testing.T) {
						secure := name != "FIN"
						want, got := said(direct, secure, close, m...), said(p.addr, secure, close, m...)
						if got != want {
							t.Errorf("got\n%s\nwant\n%s", got, want)
						}
					})
				}
			}
		}
	})
}
