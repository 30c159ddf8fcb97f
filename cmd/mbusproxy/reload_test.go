package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestReload: SIGHUP changes certificate, limits and log level for new sessions, leaves the running
// ones alone, and says what it cannot change.
func TestReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, conf := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "conf")
	certify(t, cert, key, 1)
	port := freePort(t)
	write := func(more string) {
		t.Helper()
		text := fmt.Sprintf("listen = 127.0.0.1:%d\nupstream = %s\nadmin = '%s'\ntls-cert = %s\ntls-key = %s\n%s",
			port, server.DSN("postgres"), server.DSN("postgres"), cert, key, more)
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("max-connections = 1\ndrain-timeout = 10m\n")
	p := start(t, nil, "serve", "--config", conf, "--startup-timeout", "30s")
	p.awaitText(p.log, "listening")
	reload := func(line string) {
		t.Helper()
		p.signal(syscall.SIGHUP)
		p.awaitText(p.log, line)
	}
	dsn := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres dbname=postgres sslmode=require", port)
	open := func() *pgx.Conn {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		return conn
	}
	serial := func(conn *pgx.Conn) int64 {
		t.Helper()
		c, ok := conn.PgConn().Conn().(*tls.Conn)
		if !ok {
			t.Fatal("no TLS")
		}
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	first := open()
	if n := serial(first); n != 1 {
		t.Errorf("certificate %d", n)
	}
	if _, err := pgx.Connect(t.Context(), dsn); err == nil || !strings.Contains(err.Error(), "53300") {
		t.Errorf("beyond max-connections: %v", err)
	}

	certify(t, cert, key, 2)
	write("max-connections = 3\ndrain-timeout = 1s\nlog-level = debug\ntls-required = true\nstartup-timeout = 1s\n")
	reload(`configuration reloaded {"max-connections": 3, "startup-timeout": 30, "drain-timeout": 1, "log-level": "debug"`)
	p.awaitText(p.log, `the next start only {"setting": "--tls-required"}`)
	second := open()
	if n := serial(second); n != 2 {
		t.Errorf("certificate %d", n)
	}
	open()
	if _, err := pgx.Connect(t.Context(), dsn); err == nil || !strings.Contains(err.Error(), "53300") {
		t.Errorf("beyond max-connections: %v", err)
	}
	p.awaitText(p.log, " debug no session")

	// What cannot be used changes nothing.
	if err := os.WriteFile(key, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	write("max-connections = 4\ndrain-timeout = 1s\n")
	reload("certificate not reloaded, the old one stays")
	p.awaitText(p.log, `configuration reloaded {"max-connections": 4,`)
	fourth := open()
	if n := serial(fourth); n != 2 {
		t.Errorf("certificate %d", n)
	}
	write("max-connections = many\n")
	reload(`configuration not reloaded {"error": "invalid value \"many\"`)
	if _, err := pgx.Connect(t.Context(), dsn); err == nil || !strings.Contains(err.Error(), "53300") {
		t.Errorf("beyond max-connections: %v", err)
	}

	for _, conn := range []*pgx.Conn{first, second, fourth} {
		var one int
		if err := conn.QueryRow(t.Context(), "select 1").Scan(&one); err != nil {
			t.Error(err)
		}
	}
	// The new drain timeout holds.
	if _, err := first.Exec(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGTERM)
	p.wantStatus(0)
}

// certify writes a self-signed certificate.
func certify(t *testing.T, certFile, keyFile string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
}
