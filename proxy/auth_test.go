package proxy

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/scram"
	"mbusproxy/proxy/wire"
)

// catalogue reads verifiers as the superuser does, and counts.
type catalogue struct {
	reads atomic.Int64
	fails atomic.Bool
}

func (c *catalogue) Readable(context.Context) bool { return true }

func (c *catalogue) Verifier(ctx context.Context, role string) (string, error) {
	c.reads.Add(1)
	if c.fails.Load() {
		return "", errors.New("no connection")
	}
	conn, err := pgconn.Connect(ctx, shared.cluster.DSN("postgres"))
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	r := conn.ExecParams(ctx, "select rolpassword from pg_authid where rolname = $1", [][]byte{[]byte(role)}, nil, nil, nil).Read()
	if e := new(pgconn.PgError); errors.As(r.Err, &e) && e.Code == "22021" {
		return "", nil // no UTF-8, no role
	}
	if r.Err != nil || len(r.Rows) == 0 {
		return "", r.Err
	}
	return string(r.Rows[0][0]), nil
}

func TestAuthentication(t *testing.T) {
	for _, tlsClient := range []bool{false, true} {
		for _, tlsServer := range []bool{false, true} {
			upstream := shared.upstream("sslmode=disable")
			if tlsServer {
				upstream = shared.upstream("sslmode=require")
			}
			p := start(t, how{}, func(c *Config) {
				c.Upstream, c.TLS, c.Verifiers = upstream, shared.serverTLS(), &catalogue{}
			})
			for _, user := range []string{"postgres", "clear_user", "md5_user", "scram_user"} {
				for _, password := range []string{"secret", "wrong"} {
					for _, binding := range []string{"prefer", "disable", "require"} {
						name := fmt.Sprintf("client TLS %t, server TLS %t, %s, %s, channel_binding=%s", tlsClient, tlsServer, user, password, binding)
						t.Run(name, func(t *testing.T) {
							mode := "disable"
							if tlsClient {
								mode = "require"
							}
							ctx, cancel := context.WithTimeout(t.Context(), proxytest.Patience)
							defer cancel()
							conn, err := pgconn.Connect(ctx, p.dsn(fmt.Sprintf("user=%s password=%s sslmode=%s channel_binding=%s", user, password, mode, binding)))
							if err == nil {
								_ = conn.Close(ctx)
							}
							want := ""
							if password == "wrong" && user != "postgres" {
								want = "28P01"
							}
							if binding == "require" && (user != "scram_user" || !tlsClient) {
								want = "channel binding required"
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

// secured begins a session of user over TLS, directly with the server or with a proxy, and returns
// the wire behind AuthenticationSASL and the end point to bind to.
func secured(t *testing.T, addr, user string) (w *wireClient, offer string, endPointOf []byte) {
	t.Helper()
	w = dialWire(t, addr)
	w.write([]byte(sslRequest))
	var answer [1]byte
	if _, err := w.conn.Read(answer[:]); err != nil || answer[0] != 'S' {
		t.Fatalf("answer %q, %v", answer, err)
	}
	conf := shared.clientTLS()
	conf.InsecureSkipVerify = true // certificates of other kinds
	conn := tls.Client(w.conn, conf)
	w.over(conn)
	w.startup("user", user, "database", "scram")
	offer = w.until('R', 'E')
	return w, offer, endpoint.CertificateBinding(conn.ConnectionState().PeerCertificates[0].Raw)
}

func (f *fixture) address() string {
	return net.JoinHostPort("127.0.0.1", fmt.Sprint(f.cluster.Port()))
}

// TestSCRAMMisuse sends the same to the server and to the proxy and compares the answers.
func TestSCRAMMisuse(t *testing.T) {
	p := start(t, how{}, func(c *Config) {
		c.Upstream, c.TLS, c.Verifiers = shared.upstream("sslmode=require"), shared.serverTLS(), &catalogue{}
	})
	const bound = "p=tls-server-end-point,,n=,r=abc"
	key := base64.StdEncoding.EncodeToString(make([]byte, 32))
	for _, c := range []struct {
		name, mechanism, first string
		// final has C for the right binding, N for the right nonce; "": not sent.
		final string
	}{
		{"no such mechanism", "SCRAM-SHA-1", "n,,n=,r=abc", ""},
		{"flag y", scram.SHA256, "y,,n=,r=abc", ""},
		{"flag n with -PLUS", scram.Plus, "n,,n=,r=abc", ""},
		{"flag y with -PLUS", scram.Plus, "y,,n=,r=abc", ""},
		{"flag p without -PLUS", scram.SHA256, bound, ""},
		{"unknown flag", scram.Plus, "x,,n=,r=abc", ""},
		{"flag of no character", scram.Plus, "\x01", ""},
		{"flag of a high byte", scram.Plus, "\xe9", ""},
		{"empty", scram.Plus, "", ""},
		{"NUL", scram.Plus, bound + "\x00x", ""},
		{"no binding type", scram.Plus, "p", ""},
		{"unknown binding type", scram.Plus, "p=tls-unique,,n=,r=abc", ""},
		{"long binding type", scram.Plus, "p=" + strings.Repeat("tls é", 20) + ",,n=,r=abc", ""},
		{"authzid", scram.Plus, "p=tls-server-end-point,a=me,n=,r=abc", ""},
		{"not authzid", scram.Plus, "p=tls-server-end-point,b=me,n=,r=abc", ""},
		{"ends after header", scram.Plus, "p=tls-server-end-point", ""},
		{"ends after header with comma", scram.Plus, "p=tls-server-end-point,,", ""},
		{"mandatory extension", scram.Plus, "p=tls-server-end-point,,m=x,n=,r=abc", ""},
		{"attributes in another order", scram.Plus, "p=tls-server-end-point,,r=abc,n=", ""},
		{"no equals sign", scram.Plus, "p=tls-server-end-point,,n,r=abc", ""},
		{"no nonce", scram.Plus, "p=tls-server-end-point,,n=", ""},
		{"nonce not printable", scram.Plus, "p=tls-server-end-point,,n=,r=a\tb", ""},
		{"nonce not ASCII", scram.Plus, "p=tls-server-end-point,,n=,r=é", ""},
		{"bad extension", scram.Plus, bound + ",1=x", ""},
		{"extension without value", scram.Plus, bound + ",x", ""},
		{"too long", scram.Plus, bound + strings.Repeat("x", 1100), ""},
		{"optional extension", scram.Plus, bound + ",x=1", "c=C,r=N,p=" + key},
		{"empty nonce", scram.Plus, "p=tls-server-end-point,,n=,r=", "c=C,r=N,p=" + key},
		{"wrong proof", scram.Plus, bound, "c=C,r=N,p=" + key},
		{"optional extension in final", scram.Plus, bound, "c=C,r=N,x=1,p=" + key},
		{"wrong binding", scram.Plus, bound, "c=" + boundTo(make([]byte, 32)) + ",r=N,p=" + key},
		{"no binding", scram.Plus, bound, "c=biws,r=N,p=" + key},
		{"wrong nonce", scram.Plus, bound, "c=C,r=Nx,p=" + key},
		{"other nonce", scram.Plus, bound, "c=C,r=abc,p=" + key},
		{"empty final", scram.Plus, bound, "EMPTY"},
		{"final with NUL", scram.Plus, bound, "c=C,r=N\x00,p=" + key},
		{"final in another order", scram.Plus, bound, "r=N,c=C,p=" + key},
		{"no proof", scram.Plus, bound, "c=C,r=N"},
		{"no proof but a comma", scram.Plus, bound, "c=C,r=N,"},
		{"no attribute", scram.Plus, bound, "c=C,r=N,,p=" + key},
		{"proof is not base64", scram.Plus, bound, "c=C,r=N,p=!" + key[1:]},
		{"proof without padding", scram.Plus, bound, "c=C,r=N,p=" + key[:43]},
		{"short proof", scram.Plus, bound, "c=C,r=N,p=AAAA"},
		{"long proof", scram.Plus, bound, "c=C,r=N,p=AAAA" + key},
		{"empty proof", scram.Plus, bound, "c=C,r=N,p="},
		{"garbage at the end", scram.Plus, bound, "c=C,r=N,p=" + key + ",x=1"},
		{"comma at the end", scram.Plus, bound, "c=C,r=N,p=" + key + ","},
		{"final too long", scram.Plus, bound, "c=C,r=N,x=" + strings.Repeat("x", 1100) + ",p=" + key},
	} {
		t.Run(c.name, func(t *testing.T) {
			var answers []string
			for _, addr := range []string{shared.address(), p.addr} {
				w, offer, binding := secured(t, addr, "scram_user")
				w.send(&pgproto3.SASLInitialResponse{AuthMechanism: c.mechanism, Data: []byte(c.first)})
				answer := offer + "\n"
				if c.final != "" {
					challenge, err := w.fe.Receive()
					if err != nil {
						t.Fatal(err)
					}
					cont, ok := challenge.(*pgproto3.AuthenticationSASLContinue)
					if !ok {
						t.Fatalf("%s: %+v", addr, challenge)
					}
					nonce, _, _ := strings.Cut(strings.TrimPrefix(string(cont.Data), "r="), ",")
					final := strings.NewReplacer("EMPTY", "", "c=C", "c="+boundTo(binding), "r=N", "r="+nonce).Replace(c.final)
					w.send(&pgproto3.SASLResponse{Data: []byte(final)})
				}
				m, err := w.fe.Receive()
				if err != nil {
					t.Fatal(err)
				}
				e, ok := m.(*pgproto3.ErrorResponse)
				if !ok {
					t.Fatalf("%s: %+v", addr, m)
				}
				answer += fmt.Sprintf("%s %s %s | %s | %s", e.Severity, e.Code, e.Message, e.Detail, e.Hint)
				if _, text := w.receive(); text != "closed" {
					t.Errorf("%s: after the error: %s", addr, text)
				}
				answers = append(answers, answer)
			}
			if answers[0] != answers[1] {
				t.Errorf("server %s\nproxy  %s", answers[0], answers[1])
			}
		})
	}
}

// TestChallengesForAnybody: what a client sees before its proof tells nothing about roles. Salt and
// iterations are the server's, for those who do not exist too, and the refusals are the same.
func TestChallengesForAnybody(t *testing.T) {
	source := &catalogue{}
	p := start(t, how{}, func(c *Config) {
		c.Upstream, c.TLS, c.Verifiers = shared.upstream("sslmode=require"), shared.serverTLS(), source
	})
	asSuperuser(t, `
		create role scram_nopassword login;
		create role scram_md5 login;
		update pg_authid set rolpassword = 'md5' || md5('secretscram_md5') where rolname = 'scram_md5';
		create role scram_garbage login;
		update pg_authid set rolpassword = 'SCRAM-SHA-256$1:AAAA$garbage' where rolname = 'scram_garbage';
		create role scram_expired login password 'secret' valid until '2020-01-01';
		create role scram_nologin password 'secret';
		create role "scram-é, n=r" login password 'secret'`)
	t.Cleanup(func() {
		asSuperuser(t, `drop role scram_nopassword, scram_md5, scram_garbage, scram_expired, scram_nologin, "scram-é, n=r"`)
	})
	for _, user := range []string{
		"scram_user", "scram_nobody", "scram_nopassword", "scram_md5", "scram_garbage",
		"scram_expired", "scram_nologin", "scram-é, n=r", "scram_\xff", "scram_" + strings.Repeat("x", 70),
	} {
		t.Run(user, func(t *testing.T) {
			var answers []string
			for _, addr := range []string{shared.address(), p.addr} {
				for _, password := range []string{"wrong", "secret"} {
					w, offer, binding := secured(t, addr, user)
					x := scram.NewClient(binding)
					w.send(&pgproto3.SASLInitialResponse{AuthMechanism: x.Mechanism, Data: []byte(x.Header + x.First)})
					m, err := w.fe.Receive()
					if err != nil {
						t.Fatal(err)
					}
					cont, ok := m.(*pgproto3.AuthenticationSASLContinue)
					if !ok || x.Challenged(cont.Data) != nil {
						t.Fatalf("%+v", m)
					}
					clientKey, storedKey := keysOf(t, password, x.Salt, x.Iterations)
					before := source.reads.Load()
					w.send(&pgproto3.SASLResponse{Data: []byte(x.Prove(&clientKey, &storedKey))})
					answer := w.until('R', 'E')
					if strings.Contains(answer, "SASLFinal") {
						answer = w.until('Z', 'E')
					}
					if addr == p.addr && strings.Contains(answer, "28P01") && source.reads.Load() != before+1 {
						t.Errorf("%d lookups for a refusal", source.reads.Load()-before)
					}
					answers = append(answers, strings.Join([]string{offer, password, x.Salt, fmt.Sprint(x.Iterations), answer}, "\n"))
				}
			}
			for i, got := range answers[2:] {
				if answers[i] != got {
					t.Errorf("direct\n%s\nthrough the proxy\n%s", answers[i], got)
				}
			}
		})
	}
}

func asSuperuser(t *testing.T, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), proxytest.Patience)
	defer cancel()
	conn, err := pgconn.Connect(ctx, shared.cluster.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

// bindTo logs in over TLS with channel binding.
func bindTo(t *testing.T, p *running, user, password string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), proxytest.Patience)
	defer cancel()
	conn, err := pgconn.Connect(ctx, p.dsn(fmt.Sprintf("user=%s password=%s dbname=scram sslmode=require channel_binding=require", user, password)))
	if err == nil {
		err = conn.Close(ctx)
	}
	return err
}

func TestVerifierCache(t *testing.T) {
	source := &catalogue{}
	p := start(t, how{}, func(c *Config) {
		c.Upstream, c.TLS, c.Verifiers = shared.upstream("sslmode=require"), shared.serverTLS(), source
	})
	asSuperuser(t, "create role scram_changing login password 'one'")
	t.Cleanup(func() { asSuperuser(t, "drop role scram_changing") })
	login := func(password string, lookups int64, want string) {
		t.Helper()
		before := source.reads.Load()
		err := bindTo(t, p, "scram_changing", password)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("password %s: got %v, want %q", password, err, want)
		}
		if got := source.reads.Load() - before; got != lookups {
			t.Errorf("password %s: %d lookups, want %d", password, got, lookups)
		}
	}
	login("one", 1, "")
	login("one", 0, "")
	asSuperuser(t, "alter role scram_changing password 'two'")
	login("two", 1, "")
	login("two", 0, "")
	login("one", 1, "28P01")
	login("two", 1, "") // a refusal makes the cache forget
	asSuperuser(t, "alter role scram_changing password 'three'")
	login("two", 1, "28P01")
	login("three", 1, "")
	asSuperuser(t, "alter role scram_changing valid until '2020-01-01'")
	login("three", 1, "28P01")
	asSuperuser(t, "alter role scram_changing valid until 'infinity'")
	login("three", 1, "")
	asSuperuser(t, "alter role scram_changing nologin")
	login("three", 0, `role "scram_changing" is not permitted to log in`)
	asSuperuser(t, "alter role scram_changing login connection limit 0")
	login("three", 0, "too many connections for role")
	asSuperuser(t, "alter role scram_changing connection limit -1")
	source.fails.Store(true)
	login("three", 0, "")
	login("wrong", 1, "58000")
	login("three", 0, "")
}

// TestChannelBindingRefusal: without verifiers -PLUS cannot be offered, and a server with TLS takes
// the flag 'y' for a downgrade.
func TestChannelBindingRefusal(t *testing.T) {
	p := start(t, how{}, func(c *Config) { c.Upstream, c.TLS = shared.upstream("sslmode=require"), shared.serverTLS() })
	w, offer, _ := secured(t, p.addr, "scram_user")
	if offer != `AuthenticationSASL ["SCRAM-SHA-256"]` {
		t.Fatal(offer)
	}
	w.send(&pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: []byte("y,,n=,r=rOprNGfwEbeRWgbNEkqO")})
	if got := w.toEnd(); !strings.Contains(got, "FATAL 28000") || !strings.Contains(got, "channel_binding=disable") {
		t.Error(got)
	}
}

// TestSCRAMSeparateFirst: both mechanisms work when the first message comes after an empty challenge.
func TestSCRAMSeparateFirst(t *testing.T) {
	p := start(t, how{}, func(c *Config) {
		c.Upstream, c.TLS, c.Verifiers = shared.upstream("sslmode=require"), shared.serverTLS(), &catalogue{}
	})
	for _, plus := range []bool{false, true} {
		w, _, binding := secured(t, p.addr, "scram_user")
		if !plus {
			binding = nil
		}
		x := scram.NewClient(binding)
		w.write(wire.AppendPassword(nil, append([]byte(x.Mechanism), 0, 0xff, 0xff, 0xff, 0xff)))
		if got := w.until('R'); got != "AuthenticationSASLContinue" {
			t.Fatal(got)
		}
		w.send(&pgproto3.SASLResponse{Data: []byte(x.Header + x.First)})
		w.challenge(x)
		clientKey, storedKey := keysOf(t, "secret", x.Salt, x.Iterations)
		w.send(&pgproto3.SASLResponse{Data: []byte(x.Prove(&clientKey, &storedKey))})
		m, err := w.fe.Receive()
		if err != nil {
			t.Fatal(err)
		}
		salted := proxytest.SaltedPassword(t, "secret", x.Salt, x.Iterations)
		if final, ok := m.(*pgproto3.AuthenticationSASLFinal); !ok || !x.Accepts(final.Data, serverKey(salted)) {
			t.Fatalf("%+v", m)
		}
		w.until('Z')
	}
}
