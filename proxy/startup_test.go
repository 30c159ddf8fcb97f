package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// packet builds a startup packet.
func packet(code uint32, body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	b = binary.BigEndian.AppendUint32(b, code)
	return append(b, body...)
}

const sslRequest = "\x00\x00\x00\x08\x04\xd2\x16\x2f"

func TestStartupPackets(t *testing.T) {
	p := start(t, how{}, nil)
	v3 := uint32(3 << 16)
	for _, c := range []struct {
		name string
		send []byte
		want string
	}{
		{"protocol 2", packet(2<<16, strings.Repeat("\x00", 288)), `FATAL 0A000 "unsupported frontend protocol 2.0: server supports 3.0 to 3.2"`},
		{"protocol 4", packet(4<<16, "user\x00postgres\x00\x00"), `FATAL 0A000 "unsupported frontend protocol 4.0`},
		{"too short", []byte{0, 0, 0, 7, 0, 3, 0}, `08P01 "invalid startup packet: invalid length"`},
		{"too long", []byte{0, 0, 0x27, 0x11, 0, 3, 0, 0}, `08P01 "invalid startup packet: invalid length"`},
		{"no terminator", packet(v3, "user\x00postgres"), `08P01 "invalid startup packet: expected terminator as last byte"`},
		{"no value", packet(v3, "user\x00"), `08P01 "invalid startup packet`},
		{"bytes behind terminator", packet(v3, "user\x00postgres\x00\x00x\x00"), `08P01 "invalid startup packet`},
		{"server's own refusal", packet(v3, "user\x00nobody\x00database\x00postgres\x00\x00"), `FATAL 28000 "role \"nobody\" does not exist"`},
		{"no such database", packet(v3, "user\x00postgres\x00database\x00nix\x00\x00"), `FATAL 3D000 "database \"nix\" does not exist"`},
		{"ssl twice", []byte(sslRequest + sslRequest), `N08P01 "invalid startup packet: SSL was requested twice"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := dialWire(t, p.addr)
			w.write(c.send)
			if rest, ok := strings.CutPrefix(c.want, "N"); ok && !strings.HasPrefix(c.want, "N0A") {
				var n [1]byte
				if _, err := w.conn.Read(n[:]); err != nil || n[0] != 'N' {
					t.Fatalf("got %q, %v", n, err)
				}
				c.want = rest
			}
			if got := w.toEnd(); !strings.Contains(got, c.want) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

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
	for _, request := range []uint32{codeGSS, codeSSL} {
		w.write(packet(request, ""))
		var answer [1]byte
		if _, err := w.conn.Read(answer[:]); err != nil || answer[0] != 'N' {
			t.Fatalf("answer %q, %v", answer, err)
		}
	}
	w.startup("user", "postgres")
	w.until('Z')
}

func TestPlaintextBehindSSLRequest(t *testing.T) {
	p := start(t, how{}, func(c *Config) { c.TLS = shared.serverTLS() })
	w := dialWire(t, p.addr)
	w.write([]byte(sslRequest + "\x00\x00\x00\x00"))
	if got := w.toEnd(); !strings.Contains(got, "received unencrypted data after SSL request") {
		t.Error(got)
	}
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
func ordinaryWork(t *testing.T, w *wire) {
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

func TestUnixSocketsOnBothSides(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		dir, err := os.MkdirTemp("", "mbs")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		config := func(c *Config) {
			c.Listen = []string{"127.0.0.1:0", dir}
			c.Upstream = fmt.Sprintf("host=%s port=%d", shared.cluster.SocketDir(), shared.cluster.Port())
			c.TLS, c.TLSRequired = shared.serverTLS(), true // says nothing about unix sockets
		}
		p := start(t, way, config)
		addrs := p.Addrs()
		path := addrs[1].String()
		if want := fmt.Sprintf(".s.PGSQL.%d", addrs[0].(*net.TCPAddr).Port); filepath.Base(path) != want {
			t.Errorf("socket is %s, want %s", path, want)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o777 {
			t.Errorf("socket: %v, %v", info.Mode(), err)
		}
		ordinaryWork(t, dialWire(t, path))
		t.Run("in use", func(t *testing.T) {
			if _, err := listenUnix(dir, addrs[0].(*net.TCPAddr).Port); err == nil || !strings.Contains(err.Error(), "another proxy") {
				t.Errorf("second listener: %v", err)
			}
		})
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("socket is left: %v", err)
		}
	})
}

func TestStaleSocketIsReplaced(t *testing.T) {
	dir := t.TempDir()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, ".s.PGSQL.7"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listenUnix(dir, 7); err == nil {
		t.Fatal("socket of another server was taken")
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	ours, err := listenUnix(dir, 7)
	if err != nil {
		t.Fatal(err)
	}
	_ = ours.Close()
	if err := os.WriteFile(filepath.Join(dir, ".s.PGSQL.8"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenUnix(dir, 8); err == nil {
		t.Error("a file that is no socket was replaced")
	}
}

func TestMaxConnections(t *testing.T) {
	p := start(t, how{}, func(c *Config) { c.MaxConnections = 1 })
	first := login(t, p.addr)
	second := dialWire(t, p.addr)
	second.startup("user", "postgres")
	if got := second.toEnd(); !strings.Contains(got, `FATAL 53300 "sorry, too many clients already"`) {
		t.Error(got)
	}
	first.send(&pgproto3.Terminate{})
	first.toEnd()
	eventually(t, "the session's place is free", func() bool { return p.sessionCount() == 0 })
	login(t, p.addr)
}

func TestStartupTimeout(t *testing.T) {
	p := start(t, how{}, func(c *Config) { c.StartupTimeout = 100 * time.Millisecond; c.TLS = shared.serverTLS() })
	for name, send := range map[string]string{
		"silent":                "",
		"half a packet":         "\x00\x00\x00\x20\x00\x03",
		"half a handshake":      sslRequest,
		"no password":           string(packet(3<<16, "user\x00clear_user\x00database\x00postgres\x00\x00")),
		"begun direct TLS only": "\x16\x03\x01",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", p.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err := conn.Write([]byte(send)); err != nil {
				t.Fatal(err)
			}
			got := readAll(t, conn)
			if !strings.Contains(name, "TLS") && !strings.Contains(name, "handshake") &&
				!bytes.Contains(got, []byte("canceling authentication due to timeout")) {
				t.Errorf("got %q", got)
			}
		})
	}
	eventually(t, "no session is left", func() bool { return p.sessionCount() == 0 })
}

func TestUnreachableServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	t.Run("all hosts", func(t *testing.T) {
		p := start(t, how{}, func(c *Config) { c.Upstream = fmt.Sprintf("host=127.0.0.1 port=%d", dead) })
		w := dialWire(t, p.addr)
		w.startup("user", "postgres")
		if got := w.toEnd(); !strings.Contains(got, "FATAL 08001") || !strings.Contains(got, "--upstream") {
			t.Error(got)
		}
	})
	t.Run("first host", func(t *testing.T) {
		p := start(t, how{}, func(c *Config) {
			c.Upstream = fmt.Sprintf("postgres://127.0.0.1:%d,127.0.0.1:%d/?sslmode=disable", dead, shared.cluster.Port())
		})
		ordinaryWork(t, dialWire(t, p.addr))
	})
}

func TestNotAServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("220 mail ESMTP\r\n"))
			_ = c.(*net.TCPConn).CloseWrite()
		}
	}()
	p := start(t, how{}, func(c *Config) {
		c.Upstream = fmt.Sprintf("host=127.0.0.1 port=%d sslmode=disable", l.Addr().(*net.TCPAddr).Port)
	})
	w := dialWire(t, p.addr)
	w.startup("user", "postgres")
	if got := w.toEnd(); !strings.Contains(got, "--upstream names a Postgres server") {
		t.Error(got)
	}
}

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
