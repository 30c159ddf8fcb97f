package proxy

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/wire"
)

// packet builds a startup packet.
func packet(code uint32, body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	b = binary.BigEndian.AppendUint32(b, code)
	return append(b, body...)
}

// sslRequest is a whole packet. What odd packets come to is in oddstart_test.go.
const sslRequest = "\x00\x00\x00\x08\x04\xd2\x16\x2f"

func TestProtocolVersionsPassThrough(t *testing.T) {
	p := start(t, how{}, nil)
	direct := fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port())
	for _, version := range []uint32{3 << 16, 3<<16 | 2, 3<<16 | 9999} {
		body := "user\x00postgres\x00database\x00postgres\x00_pq_.nix\x00on\x00application_name\x00wire\x00\x00"
		var got [2]string
		for i, addr := range []string{p.addr, direct} {
			w := dialWire(t, addr)
			w.write(packet(version, body))
			got[i] = w.until('Z')
			got[i] += w.query("show application_name")
		}
		if got[0] != got[1] {
			t.Errorf("%x: through the proxy:\n%s\ndirect:\n%s", version, got[0], got[1])
		}
		if !strings.Contains(got[0], "wire") || !strings.Contains(got[0], "NegotiateProtocolVersion") {
			t.Errorf("%x: %s", version, got[0])
		}
	}
}

func TestGSSThenSSLThenPlaintext(t *testing.T) {
	p := start(t, how{}, nil)
	w := dialWire(t, p.addr)
	for _, request := range []uint32{wire.CodeGSS, wire.CodeSSL} {
		w.write(packet(request, ""))
		var answer [1]byte
		if _, err := w.conn.Read(answer[:]); err != nil || answer[0] != 'N' {
			t.Fatalf("answer %q, %v", answer, err)
		}
	}
	w.startup("user", "postgres")
	w.until('Z')
}

func TestTLSTowardsClients(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.TLS, c.TLSRequired = shared.serverTLS(), true })
		t.Run("plaintext refused", func(t *testing.T) {
			w := dialWire(t, p.addr)
			w.startup("user", "postgres")
			if got := w.toEnd(); !strings.Contains(got, "FATAL 28000") || !strings.Contains(got, "sslmode=require") {
				t.Error(got)
			}
		})
		t.Run("after SSLRequest", func(t *testing.T) {
			w := dialWire(t, p.addr)
			w.write([]byte(sslRequest))
			var answer [1]byte
			if _, err := w.conn.Read(answer[:]); err != nil || answer[0] != 'S' {
				t.Fatalf("answer %q, %v", answer, err)
			}
			w.over(tls.Client(w.conn, shared.clientTLS()))
			ordinaryWork(t, w)
		})
		t.Run("direct", func(t *testing.T) {
			w := dialWire(t, p.addr)
			w.over(tls.Client(w.conn, shared.clientTLS()))
			ordinaryWork(t, w)
		})
		t.Run("direct without ALPN", func(t *testing.T) {
			w := dialWire(t, p.addr)
			conf := shared.clientTLS()
			conf.NextProtos = nil
			w.over(tls.Client(w.conn, conf))
			if got := w.toEnd(); !strings.Contains(got, "ALPN") {
				t.Error(got)
			}
		})
	})
}

// ordinaryWork logs in over w and does something that needs more than one buffer.
func ordinaryWork(t *testing.T, w *wireClient) {
	t.Helper()
	w.startup("user", "postgres", "database", "postgres")
	w.until('Z')
	got := w.query("select repeat('x', 100000), pg_backend_pid() > 0")
	if !strings.Contains(got, strings.Repeat("x", 100000)) {
		t.Errorf("row does not come through")
	}
	big := strings.Repeat("y", 300000)
	if got := w.query("select length('" + big + "')"); !strings.Contains(got, `DataRow ["300000"]`) {
		t.Errorf("query does not come through: %.200s", got)
	}
	w.send(&pgproto3.Terminate{})
	if got := w.toEnd(); got != "closed" {
		t.Errorf("after Terminate: %s", got)
	}
}

func TestTLSTowardsServer(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other.crt")
	var f fixture
	if err := f.makeCertificate(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(f.certFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	ssl := `select ssl from pg_stat_ssl where pid = pg_backend_pid()`
	for _, c := range []struct {
		upstream, want string
	}{
		{"sslmode=disable", `DataRow ["f"]`},
		{"sslmode=allow", `DataRow ["f"]`},
		{"sslmode=prefer", `DataRow ["t"]`},
		{"sslmode=require", `DataRow ["t"]`},
		{"sslmode=verify-ca sslrootcert=" + shared.certFile, `DataRow ["t"]`},
		{"sslmode=verify-full sslrootcert=" + shared.certFile, `DataRow ["t"]`},
		{"sslmode=verify-ca sslrootcert=" + other, `08001 "mbusproxy could not connect`},
		{"sslmode=verify-full sslrootcert=" + other, `08001 "mbusproxy could not connect`},
		{"sslmode=disable user=only_tls", `FATAL 28000 "pg_hba.conf rejects connection`},
		{"sslmode=allow user=only_tls", `DataRow ["t"]`},
		{"sslmode=prefer user=only_plain", `DataRow ["f"]`},
		{"sslmode=require user=only_plain", `FATAL 28000 "pg_hba.conf rejects connection`},
	} {
		t.Run(c.upstream, func(t *testing.T) {
			upstream, user, ok := strings.Cut(c.upstream, " user=")
			if !ok {
				user = "postgres"
			}
			p := start(t, how{}, func(cfg *Config) { cfg.Upstream = shared.upstream(upstream) })
			w := dialWire(t, p.addr)
			w.startup("user", user, "database", "postgres")
			got := w.until('Z', 'E')
			if strings.Contains(got, "ReadyForQuery") {
				got = w.query(ssl)
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}
