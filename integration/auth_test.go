package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// authMethods are the ways to log in that the server asks for, each of a role of its name.
var authMethods = []struct{ role, method, encryption string }{
	{"login_cleartext", "password", "scram-sha-256"},
	{"login_md5", "md5", "md5"},
	{"login_scram", "scram-sha-256", "scram-sha-256"},
	{"login_none", "reject", "scram-sha-256"},
}

// hostBasedAuthentication is the shared cluster's pg_hba.conf: trust for all but those roles.
func hostBasedAuthentication() []string {
	var lines []string
	for _, m := range authMethods {
		lines = append(lines, fmt.Sprintf("host all %s 127.0.0.1/32 %s", m.role, m.method))
	}
	return append(lines, "local all all trust", "host all all 127.0.0.1/32 trust", "host all all ::1/128 trust")
}

// Whoever gets in direct gets in through the proxy, and who does not gets the same answer; also
// where the client speaks TLS with the proxy.
func TestAuthentication(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	secure := anotherProxy(t, "--tls-cert", cert, "--tls-key", key)
	database := newDatabase(t)
	ways := []struct {
		name string
		endpoint
		settings string
	}{
		{"direct", direct, "sslmode=disable"},
		{"proxied", proxied, "sslmode=disable"},
		{"proxied, TLS offered and not used", secure.endpoint, "sslmode=disable"},
		{"proxied, TLS", secure.endpoint, "sslmode=require"},
		{"proxied, TLS verified", secure.endpoint, "sslmode=verify-full sslrootcert=" + cert},
	}
	clients := map[string]func(t *testing.T, conninfo, password string) string{
		"psql": loginPsql, "pgx": loginPgx, "psycopg2": loginPsycopg2,
	}
	for _, m := range authMethods {
		admin(t, fmt.Sprintf("set password_encryption = '%s'; create role %s login password 'sécret'", m.encryption, m.role))
		t.Cleanup(func() { admin(t, "drop role "+m.role) })
	}
	for _, m := range authMethods {
		for name, login := range clients {
			t.Run(m.method+"/"+name, func(t *testing.T) {
				for _, password := range []string{"sécret", "wrong"} {
					var answers []string
					for _, w := range ways {
						conninfo := fmt.Sprintf("host=%s port=%d dbname=%s user=%s %s", w.host, w.port, database, m.role, w.settings)
						answers = append(answers, login(t, conninfo, password))
					}
					for i, got := range answers {
						if got != answers[0] {
							t.Errorf("password %q: direct %q, %s %q", password, answers[0], ways[i].name, got)
						}
					}
					if ok := answers[0] == m.role; ok != (password == "sécret" && m.method != "reject") {
						t.Errorf("password %q: %q", password, answers[0])
					}
				}
			})
		}
	}
}

// The clients answer with the name of who got in, or with the SQLSTATE or text of the refusal.

func loginPgx(t *testing.T, conninfo, password string) string {
	conn, err := pgconn.Connect(testContext(t), conninfo+" password="+password)
	if err != nil {
		return sqlState(err)
	}
	defer closeConn(conn.Close)
	return ask(t, conn, "select current_user")
}

func loginPsql(t *testing.T, conninfo, password string) string {
	path, _ := psqlTool(t)
	got := run(t, []string{"PGPASSWORD=" + password}, "", "", path, "-X", "-w", "-At", "-d", conninfo, "-c", "select current_user")
	return strings.TrimSpace(got.stdout + afterFatal(got.stderr))
}

func loginPsycopg2(t *testing.T, conninfo, password string) string {
	needPython(t, "psycopg2", "python3-psycopg2")
	const program = "import psycopg2, sys\nc = psycopg2.connect(sys.argv[1]).cursor()\nc.execute('select current_user')\nprint(c.fetchone()[0])"
	got := run(t, []string{"PGPASSWORD=" + password}, "", "", python, "-c", program, conninfo)
	return strings.TrimSpace(got.stdout + afterFatal(got.stderr))
}

// afterFatal is the server's own part of libpq's report, without addresses and ports. For a role
// that is rejected the server also says whether the connection was encrypted, which on its side
// it never is here.
func afterFatal(stderr string) string {
	_, text, _ := strings.Cut(stderr, "FATAL:")
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(line)
}

// certificate makes a self-signed one for 127.0.0.1, good for an hour.
func certificate(t *testing.T) (certFile, keyFile string) { return certificateOf(t, "mbusproxy test") }

// certificateOf is certificate with a name, such as that of a role.
func certificateOf(t *testing.T, commonName string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: commonName},
		NotBefore:             time.Now().Add(-time.Minute),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", cert), write("key.pem", "PRIVATE KEY", secret)
}
