package proxy

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"mbusproxy/proxy/internal/proxytest"
)

// TestNothingToldBeforeLogin: a client that has not logged in hears that there is no session, but
// not where servers are, as whom the proxy asks them, or what its system said. The log has it.
func TestNothingToldBeforeLogin(t *testing.T) {
	dead := deadPort(t)
	leaves := proxytest.Pretend(t, func(net.Conn) {}).Port
	garbage := proxytest.Pretend(t, func(c net.Conn) {
		var b [512]byte
		_, _ = c.Read(b[:])
		_, _ = c.Write([]byte("SSH-2.0-OpenSSH\r\n"))
	}).Port
	noTLS := proxytest.Pretend(t, func(c net.Conn) {
		var b [8]byte
		_, _ = c.Read(b[:])
		_, _ = c.Write([]byte("N"))
	}).Port
	for _, c := range []struct {
		name, upstream, admin, code, logged string
		port                                int
	}{
		{name: "nobody listens", upstream: "sslmode=disable", code: "08001", logged: "connection refused", port: dead},
		{name: "server leaves", upstream: "sslmode=disable", code: "08006", logged: "closed during startup", port: leaves},
		{name: "no Postgres", upstream: "sslmode=disable", code: "08P01", port: garbage},
		{name: "no TLS", upstream: "sslmode=require", code: "08001", logged: "TLS", port: noTLS},
		{name: "no name", upstream: "host=no.such.name.invalid sslmode=disable", code: "08001", logged: "no.such.name.invalid", port: 5432},
		{name: "none fits", upstream: "sslmode=disable target_session_attrs=standby", admin: "user=postgres", code: "08001", logged: "standby", port: shared.cluster.Port()},
		{name: "nobody to ask", upstream: "sslmode=disable target_session_attrs=primary connect_timeout=1", admin: "user=secret_admin password=hush", code: "08001", logged: "secret_admin", port: shared.cluster.Port()},
	} {
		t.Run(c.name, func(t *testing.T) {
			core, seen := observer.New(zap.DebugLevel)
			p := start(t, how{}, func(cfg *Config) {
				cfg.Upstream = fmt.Sprintf("host=127.0.0.1 port=%d %s", c.port, c.upstream)
				if c.admin != "" {
					cfg.Admin = fmt.Sprintf("host=127.0.0.1 port=%d dbname=postgres %s", c.port, c.admin)
				}
				cfg.Log = zap.New(core)
			})
			w := dialWire(t, p.addr)
			w.startup("user", "postgres")
			got := w.toEnd()
			if !strings.Contains(got, "FATAL "+c.code) || !strings.Contains(got, "hint") {
				t.Error(got)
			}
			for _, secret := range []string{
				"127.0.0.1", fmt.Sprint(c.port), "localhost", "invalid", "dial", "refused", "EOF", "secret_admin", "hush", "--", "detail",
			} {
				if strings.Contains(got, secret) {
					t.Errorf("tells %q: %s", secret, got)
				}
			}
			var log strings.Builder
			encoder := zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig())
			for _, e := range seen.All() {
				if e.Level < zap.WarnLevel && c.logged != "" {
					continue
				}
				line, err := encoder.EncodeEntry(e.Entry, e.Context)
				if err != nil {
					t.Fatal(err)
				}
				log.Write(line.Bytes())
			}
			if !strings.Contains(log.String(), c.logged) || strings.Contains(log.String(), "hush") {
				t.Errorf("log:\n%s", log.String())
			}
		})
	}
}
