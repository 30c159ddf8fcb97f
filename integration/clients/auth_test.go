package clients

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/integration/internal/programs"
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
	secure := harness.NewProxy(t, "--tls-cert", cert, "--tls-key", key)
	database := harness.NewDatabase(t)
	ways := []struct {
		name string
		harness.Endpoint
		settings string
	}{
		{"direct", harness.Direct(), "sslmode=disable"},
		{"proxied", harness.Proxied(), "sslmode=disable"},
		{"proxied, TLS offered and not used", secure.Endpoint, "sslmode=disable"},
		{"proxied, TLS", secure.Endpoint, "sslmode=require"},
		{"proxied, TLS verified", secure.Endpoint, "sslmode=verify-full sslrootcert=" + cert},
	}
	clients := map[string]func(t *testing.T, conninfo, password string) string{
		"psql": loginPsql, "pgx": loginPgx, "psycopg2": loginPsycopg2,
	}
	for _, m := range authMethods {
		harness.Admin(t, fmt.Sprintf("set password_encryption = '%s'; create role %s login password 'sécret'", m.encryption, m.role))
		t.Cleanup(func() { harness.Admin(t, "drop role "+m.role) })
	}
	for _, m := range authMethods {
		for name, login := range clients {
			ways := ways
			if name == "psycopg2" && !harness.Long() { // it is the libpq of psql
				ways = ways[:2]
			}
			t.Run(m.method+"/"+name, func(t *testing.T) {
				for _, password := range []string{"sécret", "wrong"} {
					var answers []string
					for _, w := range ways {
						conninfo := fmt.Sprintf("host=%s port=%d dbname=%s user=%s %s", w.Host, w.Port, database, m.role, w.settings)
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
	conn, err := pgconn.Connect(harness.Context(t), conninfo+" password="+password)
	if err != nil {
		return harness.SQLState(err)
	}
	defer harness.Close(conn)
	return harness.Ask(t, conn, "select current_user")
}

func loginPsql(t *testing.T, conninfo, password string) string {
	path, _ := programs.FindPsql(t)
	got := programs.Run(t, []string{"PGPASSWORD=" + password}, "", "", path, "-X", "-w", "-At", "-d", conninfo, "-c", "select current_user")
	return strings.TrimSpace(got.Stdout + afterFatal(got.Stderr))
}

func loginPsycopg2(t *testing.T, conninfo, password string) string {
	programs.NeedPython(t, "psycopg2", "python3-psycopg2")
	const program = "import psycopg2, sys\nc = psycopg2.connect(sys.argv[1]).cursor()\nc.execute('select current_user')\nprint(c.fetchone()[0])"
	got := programs.Run(t, []string{"PGPASSWORD=" + password}, "", "", programs.Python, "-c", program, conninfo)
	return strings.TrimSpace(got.Stdout + afterFatal(got.Stderr))
}

// afterFatal is the server's own part of libpq's report, without addresses and ports. For a role
// that is rejected the server also says whether the connection was encrypted, which on its side
// it never is here.
func afterFatal(stderr string) string {
	_, text, _ := strings.Cut(stderr, "FATAL:")
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(line)
}
