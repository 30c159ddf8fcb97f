package proxy

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/scram"
	"mbusproxy/proxy/wire"
)

// TestDowngrade: who removes -PLUS from the list is found out, also with a plaintext server behind the
// proxy and also when the first message comes in an answer of its own.
func TestDowngrade(t *testing.T) {
	for _, mode := range []string{"disable", "require"} {
		p := start(t, how{}, func(c *Config) {
			c.Upstream, c.TLS, c.Verifiers = shared.upstream("sslmode="+mode), shared.serverTLS(), &catalogue{}
		})
		for _, separate := range []bool{false, true} {
			w, offer, _ := secured(t, p.addr, "scram_user")
			if offer != `AuthenticationSASL ["SCRAM-SHA-256-PLUS" "SCRAM-SHA-256"]` {
				t.Fatal(offer)
			}
			first := []byte("y,,n=,r=rOprNGfwEbeRWgbNEkqO")
			if separate {
				w.write(wire.AppendPassword(nil, append([]byte(scram.SHA256), 0, 0xff, 0xff, 0xff, 0xff)))
				w.until('R')
				w.send(&pgproto3.SASLResponse{Data: first})
			} else {
				w.send(&pgproto3.SASLInitialResponse{AuthMechanism: scram.SHA256, Data: first})
			}
			if got := w.toEnd(); !strings.Contains(got, `FATAL 28000 "SCRAM channel binding negotiation error"`) {
				t.Errorf("sslmode=%s, separate %t: %s", mode, separate, got)
			}
		}
	}
}

// TestCertificateKinds binds to proxies with other certificates, and chosen in other ways.
func TestCertificateKinds(t *testing.T) {
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	make1 := func(public, key any) tls.Certificate {
		template := &x509.Certificate{SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
		der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
		if err != nil {
			t.Fatal(err)
		}
		return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	}
	edCert, ecCert := make1(ed.Public(), ed), make1(p384.Public(), p384)
	for _, c := range []struct {
		name, offer string
		conf        *tls.Config
	}{
		{"ECDSA with SHA-384", scram.Plus, &tls.Config{Certificates: []tls.Certificate{ecCert}}},
		{"several", scram.Plus, &tls.Config{Certificates: []tls.Certificate{ecCert, edCert}}},
		{"GetCertificate", scram.Plus, &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &ecCert, nil }}},
		{"GetConfigForClient", scram.Plus, &tls.Config{
			Certificates: []tls.Certificate{edCert},
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
				return &tls.Config{Certificates: []tls.Certificate{ecCert}, NextProtos: []string{endpoint.ALPN}}, nil
			},
		}},
		{"Ed25519", scram.SHA256, &tls.Config{Certificates: []tls.Certificate{edCert}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t, how{}, func(cfg *Config) {
				cfg.Upstream, cfg.TLS, cfg.Verifiers = shared.upstream("sslmode=require"), c.conf, &catalogue{}
			})
			for range 2 {
				w, offer, binding := secured(t, p.addr, "scram_user")
				if !strings.HasPrefix(offer, `AuthenticationSASL ["`+c.offer+`"`) {
					t.Fatal(offer)
				}
				x := scram.NewClient(binding)
				if binding == nil {
					x.Header = "y,," // could bind, but nothing is offered: rightly
				}
				w.send(&pgproto3.SASLInitialResponse{AuthMechanism: x.Mechanism, Data: []byte(x.Header + x.First)})
				w.challenge(x)
				clientKey, storedKey := keysOf(t, "secret", x.Salt, x.Iterations)
				w.send(&pgproto3.SASLResponse{Data: []byte(x.Prove(&clientKey, &storedKey))})
				w.until('Z')
			}
		})
	}
}

// pretender is a server that asks for SCRAM and knows no verifier. It has a salt to show and then says
// that all is well.
func pretender(t *testing.T, ending ...pgproto3.BackendMessage) string {
	t.Helper()
	return proxytest.Pretend(t, func(conn net.Conn) {
		_ = conn.SetDeadline(time.Now().Add(proxytest.Patience))
		be := pgproto3.NewBackend(conn, conn)
		_, _ = be.ReceiveStartupMessage()
		be.Send(&pgproto3.AuthenticationSASL{AuthMechanisms: []string{scram.SHA256}})
		_ = be.Flush()
		_ = be.SetAuthType(pgproto3.AuthTypeSASL)
		m, err := be.Receive()
		if first, ok := m.(*pgproto3.SASLInitialResponse); err == nil && ok {
			nonce := strings.TrimPrefix(string(first.Data), "n,,n=,r=")
			be.Send(&pgproto3.AuthenticationSASLContinue{Data: []byte("r=" + nonce + "x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")})
			_ = be.Flush()
			_ = be.SetAuthType(pgproto3.AuthTypeSASLContinue)
			_, _ = be.Receive()
			for _, m := range ending {
				be.Send(m)
			}
			_ = be.Flush()
		}
	}).String()
}

// TestPretender: a server that cannot prove that it has the verifier gets no session, and the client's
// proof never reaches it.
func TestPretender(t *testing.T) {
	stored, clientKey := proxytest.StoredVerifier(t, "pencil")
	v, err := scram.ParseVerifier(stored)
	if err != nil {
		t.Fatal(err)
	}
	signature := "v=" + base64.StdEncoding.EncodeToString(make([]byte, 32))
	for _, c := range []struct {
		name, user, want string
		ending           []pgproto3.BackendMessage
	}{
		{"bad signature", "user", "FATAL 28000 \"the Postgres server did not prove", []pgproto3.BackendMessage{
			&pgproto3.AuthenticationSASLFinal{Data: []byte(signature)}, &pgproto3.AuthenticationOk{}, &pgproto3.ReadyForQuery{TxStatus: 'I'},
		}},
		{"no signature", "user", "FATAL 08P01", []pgproto3.BackendMessage{&pgproto3.AuthenticationOk{}, &pgproto3.ReadyForQuery{TxStatus: 'I'}}},
		{"takes anything", "nobody", "FATAL 28000 \"the Postgres server did not prove", []pgproto3.BackendMessage{
			&pgproto3.AuthenticationSASLFinal{Data: []byte(signature)}, &pgproto3.AuthenticationOk{}, &pgproto3.ReadyForQuery{TxStatus: 'I'},
		}},
		{"another question", "user", "FATAL 08P01", []pgproto3.BackendMessage{&pgproto3.AuthenticationCleartextPassword{}}},
		{"leaves", "user", "FATAL 08006", nil},
		{"notice, then its own error", "user", "NoticeResponse", []pgproto3.BackendMessage{
			&pgproto3.NoticeResponse{Severity: "NOTICE", Code: "00000", Message: "n"},
			&pgproto3.ErrorResponse{Severity: "FATAL", Code: "28P01", Message: "no"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			host, port, _ := net.SplitHostPort(pretender(t, c.ending...))
			p := start(t, how{}, func(cfg *Config) {
				cfg.Upstream = fmt.Sprintf("host=%s port=%s sslmode=disable", host, port)
				cfg.TLS, cfg.Verifiers = shared.serverTLS(), proxytest.StaticVerifiers{"user": stored}
			})
			w, _, binding := secured(t, p.addr, c.user)
			x := scram.NewClient(binding)
			w.send(&pgproto3.SASLInitialResponse{AuthMechanism: x.Mechanism, Data: []byte(x.Header + x.First)})
			w.challenge(x)
			w.send(&pgproto3.SASLResponse{Data: []byte(x.Prove(&clientKey, &v.StoredKey))})
			if got := w.toEnd(); !strings.Contains(got, c.want) || strings.Contains(got, "AuthenticationOk") {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestSecretsAreNotLogged looks for what could serve to log in.
func TestSecretsAreNotLogged(t *testing.T) {
	core, seen := observer.New(zap.DebugLevel)
	source := &catalogue{}
	p := start(t, how{}, func(c *Config) {
		c.Upstream, c.TLS, c.Verifiers = shared.upstream("sslmode=require"), shared.serverTLS(), source
		c.Log = zap.New(core)
	})
	if err := bindTo(t, p, "scram_user", "secret"); err != nil {
		t.Fatal(err)
	}
	if err := bindTo(t, p, "scram_user", "mistaken"); err == nil {
		t.Fatal("let in")
	}
	source.fails.Store(true)
	if err := bindTo(t, p, "scram_user", "mistaken"); err == nil {
		t.Fatal("let in")
	}
	if seen.Len() == 0 {
		t.Fatal("nothing is logged at all")
	}
	for _, e := range seen.All() {
		text := fmt.Sprint(e.Message, e.ContextMap())
		for _, bad := range []string{"SCRAM-SHA-256$", "secret", "mistaken", "p=", "v="} {
			if strings.Contains(text, bad) {
				t.Errorf("%q is in %s", bad, text)
			}
		}
	}
}
