package proxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

func TestAuthentication(t *testing.T) {
	for _, tlsClient := range []bool{false, true} {
		for _, tlsServer := range []bool{false, true} {
			upstream := shared.upstream("sslmode=disable")
			if tlsServer {
				upstream = shared.upstream("sslmode=require")
			}
			p := start(t, how{}, func(c *Config) { c.Upstream, c.TLS = upstream, shared.serverTLS() })
			for _, user := range []string{"postgres", "clear_user", "md5_user", "scram_user"} {
				for _, password := range []string{"secret", "wrong"} {
					for _, binding := range []string{"prefer", "disable"} {
						name := fmt.Sprintf("client TLS %t, server TLS %t, %s, %s, channel_binding=%s", tlsClient, tlsServer, user, password, binding)
						t.Run(name, func(t *testing.T) {
							mode := "disable"
							if tlsClient {
								mode = "require"
							}
							ctx, cancel := context.WithTimeout(t.Context(), patience)
							defer cancel()
							conn, err := pgconn.Connect(ctx, p.dsn(fmt.Sprintf("user=%s password=%s sslmode=%s channel_binding=%s", user, password, mode, binding)))
							if err == nil {
								_ = conn.Close(ctx)
							}
							want := ""
							if password == "wrong" && user != "postgres" {
								want = "28P01"
							}
							if user == "scram_user" && tlsClient && tlsServer && binding == "prefer" && err != nil && strings.Contains(err.Error(), "28000") {
								// what libpq does too: flag 'y'
								return
							}
							switch {
							case want == "" && err != nil:
								t.Errorf("refused: %v", err)
							case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
								t.Errorf("got %v, want %s", err, want)
							}
						})
					}
				}
			}
		}
	}
}

// TestChannelBindingRefusal sends what libpq sends with channel_binding=prefer over TLS when the
// server offers no -PLUS: the flag 'y'.
func TestChannelBindingRefusal(t *testing.T) {
	p := start(t, how{}, func(c *Config) { c.Upstream, c.TLS = shared.upstream("sslmode=require"), shared.serverTLS() })
	w := dialWire(t, p.addr)
	w.over(tls.Client(w.conn, shared.clientTLS()))
	w.startup("user", "scram_user", "database", "postgres")
	if got := w.until('R'); got != `AuthenticationSASL ["SCRAM-SHA-256"]` {
		t.Fatal(got)
	}
	w.send(&pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: []byte("y,,n=,r=rOprNGfwEbeRWgbNEkqO")})
	if got := w.toEnd(); !strings.Contains(got, "FATAL 28000") || !strings.Contains(got, "channel_binding=disable") {
		t.Error(got)
	}
}
