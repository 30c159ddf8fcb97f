package clients

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/pgcluster"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/integration/internal/programs"
)

// matrix is a cluster with TLS and roles for all methods.
type matrix struct {
	server               harness.Endpoint
	certFile, keyFile    string // of the server and of the proxies
	roleCert, roleKey    string // of the role matrix_cert
	toPlaintext, toTLS   string // --upstream
	unreadable, readable string // --admin
}

// matrixMethods are the methods of the matrix; each has a role of its name.
var matrixMethods = []string{"trust", "password", "md5", "scram-sha-256", "cert"}

func matrixRole(method string) string {
	name, _, _ := strings.Cut(method, "-")
	return "matrix_" + name
}

func newMatrix(t *testing.T) *matrix {
	t.Helper()
	m := &matrix{}
	m.certFile, m.keyFile = certificate(t)
	m.roleCert, m.roleKey = certificateOf(t, "matrix_cert")
	roots := forServer(t, m.roleCert)
	hba := []string{
		"local all all trust", "host all postgres 127.0.0.1/32 trust", "host all matrix_reader,matrix_granted 127.0.0.1/32 trust",
		"host all matrix_later 127.0.0.1/32 scram-sha-256",
	}
	for _, method := range matrixMethods {
		line := fmt.Sprintf("host all %s 127.0.0.1/32 %s", matrixRole(method), method)
		if method == "cert" {
			line = "hostssl" + strings.TrimPrefix(line, "host") // it is an error in a line that plaintext matches
		}
		hba = append(hba, line)
	}
	cluster, err := pgcluster.Temp(pgcluster.Config{
		TLSCert: m.certFile, TLSKey: m.keyFile, HBA: hba,
		Settings: map[string]string{"ssl_ca_file": roots},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { harness.StopCluster(cluster) })
	m.server = harness.Endpoint{Name: "direct", Host: cluster.Host(), Port: cluster.Port()}
	m.toPlaintext = fmt.Sprintf("host=%s port=%d sslmode=disable", m.server.Host, m.server.Port)
	m.toTLS = fmt.Sprintf("host=%s port=%d sslmode=verify-full sslrootcert=%s", m.server.Host, m.server.Port, m.certFile)
	m.readable = m.server.DSN("postgres")
	m.unreadable = strings.Replace(m.readable, "user=postgres", "user=matrix_reader", 1)
	var sql strings.Builder
	for _, method := range matrixMethods {
		encryption := "scram-sha-256"
		if method == "md5" {
			encryption = "md5"
		}
		fmt.Fprintf(&sql, "set password_encryption = '%s'; create role %s login password 'sécret';", encryption, matrixRole(method))
	}
	m.admin(t, sql.String()+"create role matrix_reader login; create role matrix_granted login")
	return m
}

// forServer copies a file to where the account of the server can read it.
func forServer(t *testing.T, path string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mbus-matrix-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "roots.pem")
	if err := os.WriteFile(to, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

func (m *matrix) admin(t *testing.T, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgconn.Connect(ctx, m.server.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// proxy starts a proxy with TLS towards clients.
func (m *matrix) proxy(t *testing.T, upstream, admin string, flags ...string) harness.Endpoint {
	t.Helper()
	flags = append([]string{"--upstream", upstream, "--admin", admin, "--tls-cert", m.certFile, "--tls-key", m.keyFile}, flags...)
	return harness.NewProxy(t, flags...).Endpoint
}

// sides names the two kinds of connection, with what psql is told for them.
var sides = []struct{ name, sslmode string }{{"plaintext", "disable"}, {"TLS", "require"}}

var bindings = []string{"disable", "prefer", "require"}

// table logs in to every cell and returns the table as docs/auth.md has it.
func (m *matrix) table(t *testing.T, admin string, methods []string, flags ...string) string {
	t.Helper()
	towards := map[string]harness.Endpoint{
		"plaintext": m.proxy(t, m.toPlaintext, admin, flags...),
		"TLS":       m.proxy(t, m.toTLS, admin, flags...),
	}
	var out strings.Builder
	out.WriteString("| client side | server side | method | `disable` | `prefer` | `require` |\n|---|---|---|---|---|---|\n")
	for _, client := range sides {
		for _, server := range sides {
			for _, method := range methods {
				fmt.Fprintf(&out, "| %s | %s | %s |", client.name, server.name, method)
				for _, binding := range bindings {
					e := towards[server.name]
					conninfo := fmt.Sprintf("host=%s port=%d dbname=postgres user=%s sslmode=%s channel_binding=%s",
						e.Host, e.Port, matrixRole(method), client.sslmode, binding)
					if client.name == "TLS" {
						conninfo += fmt.Sprintf(" sslcert=%s sslkey=%s", m.roleCert, m.roleKey)
					}
					fmt.Fprintf(&out, " %s |", matrixCell(t, conninfo, matrixRole(method)))
				}
				out.WriteString("\n")
			}
		}
	}
	return out.String()
}

// matrixCell logs in with psql, first with the right password, then with a wrong one.
func matrixCell(t *testing.T, conninfo, role string) string {
	t.Helper()
	path, _ := programs.FindPsql(t)
	login := func(password string) programs.Outcome {
		return programs.Run(t, []string{"PGPASSWORD=" + password}, "", "", path, "-X", "-w", "-At", "-d", conninfo, "-c", "select current_user")
	}
	got := login("sécret")
	switch {
	case got.Status == 0 && got.Stdout == role+"\n":
		wrong := login("wrong")
		if refused := strings.Contains(wrong.Stderr, "FATAL:  password authentication failed for user"); refused == (role == "matrix_trust") {
			t.Errorf("%s with a wrong password: %s%s", conninfo, wrong.Stdout, wrong.Stderr)
		}
		return "works"
	case strings.Contains(got.Stderr, "channel binding required"), strings.Contains(got.Stderr, "channel binding is required"):
		return "refused by the client"
	case strings.Contains(got.Stderr, "FATAL:"):
		// libpq does not tell the SQLSTATE, so another client asks for it.
		_, err := pgconn.Connect(harness.Context(t), strings.Replace(conninfo, "channel_binding=require", "channel_binding=prefer", 1)+" password=sécret")
		return "FATAL " + harness.SQLState(err)
	default:
		return fmt.Sprintf("%q", got.Stdout+got.Stderr)
	}
}

// TestAuthWithTLS has the tests that need a server with TLS; they share one.
func TestAuthWithTLS(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	for name, test := range map[string]func(*testing.T, *matrix){
		"matrix": testAuthMatrix, "client certificate": testAuthClientCertificate,
		"drivers": testAuthDrivers, "password change": testAuthPasswordChange,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, m)
		})
	}
}

// testAuthMatrix logs in by every way that docs/auth.md has a cell for, with psql, and compares the
// tables.
func testAuthMatrix(t *testing.T, m *matrix) {
	doc, err := os.ReadFile("../../docs/auth.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]string{
		"all methods": m.table(t, m.readable, matrixMethods),
		"SCRAM when verifiers cannot be read": strings.ReplaceAll(
			m.table(t, m.unreadable, []string{"scram-sha-256"}, "--no-init"), "| FATAL 28000 |", "| **FATAL 28000** |"),
	} {
		if !strings.Contains(string(doc), table) {
			t.Errorf("%s: docs/auth.md does not have this table:\n%s", name, table)
		}
	}
}

// testAuthClientCertificate: towards the server the certificate is the proxy's, whoever the client is.
func testAuthClientCertificate(t *testing.T, m *matrix) {
	e := m.proxy(t, m.toTLS+fmt.Sprintf(" sslcert=%s sslkey=%s", m.roleCert, m.roleKey), m.readable)
	for role, want := range map[string]string{
		"matrix_cert":  "matrix_cert",
		"matrix_scram": "matrix_scram",
	} {
		conninfo := fmt.Sprintf("host=%s port=%d dbname=postgres user=%s sslmode=require", e.Host, e.Port, role)
		if got := loginPsql(t, conninfo, "sécret"); got != want {
			t.Errorf("%s: %q, want %q", role, got, want)
		}
	}
}

// testAuthDrivers: drivers other than psql log in by SCRAM with TLS on both sides, and are told
// the same as by the server when they may not.
func testAuthDrivers(t *testing.T, m *matrix) {
	through := m.proxy(t, m.toTLS, m.readable)
	conninfo := func(e harness.Endpoint, settings string) string {
		return fmt.Sprintf("host=%s port=%d dbname=postgres user=matrix_scram %s", e.Host, e.Port, settings)
	}
	for name, login := range map[string]func(t *testing.T, conninfo, password string) string{
		"pgx": loginPgx, "psycopg2": loginPsycopg2, "psycopg": loginPsycopg3, "psql": loginPsql,
	} {
		t.Run(name, func(t *testing.T) {
			for _, settings := range []string{
				"sslmode=require", "sslmode=verify-full channel_binding=require sslrootcert=" + m.certFile,
			} {
				if got := login(t, conninfo(through, settings), "sécret"); got != "matrix_scram" {
					t.Errorf("%s: %q", settings, got)
				}
				want, got := login(t, conninfo(m.server, settings), "wrong"), login(t, conninfo(through, settings), "wrong")
				if got != want || want == "" {
					t.Errorf("%s: wrong password: direct %q, through the proxy %q", settings, want, got)
				}
			}
		})
	}
	t.Run("JDBC", func(t *testing.T) {
		programs.NeedFile(t, jdbcDriver, "libpostgresql-jdbc-java")
		java := programs.Find(t, "java", "a JDK (default-jdk-headless)")
		for password, want := range map[string]string{"sécret": "matrix_scram\n", "wrong": "28P01\n"} {
			got := programs.Run(t, nil, "", "java", java, "-Dfile.encoding=UTF-8", "-cp", jdbcDriver, "Login.java",
				through.Host, fmt.Sprint(through.Port), "matrix_scram", password)
			if got.Stdout != want {
				t.Errorf("password %s: %s%s", password, got.Stdout, got.Stderr)
			}
		}
	})
}

func loginPsycopg3(t *testing.T, conninfo, password string) string {
	programs.NeedPython(t, "psycopg", "python3-psycopg")
	const program = "import psycopg, sys\nprint(psycopg.connect(sys.argv[1]).execute('select current_user').fetchone()[0])"
	got := programs.Run(t, []string{"PGPASSWORD=" + password}, "", "", programs.Python, "-c", program, conninfo)
	return strings.TrimSpace(got.Stdout + afterFatal(got.Stderr))
}

// testAuthPasswordChange changes a password, the right to read verifiers and the time a role is valid
// under a running proxy.
func testAuthPasswordChange(t *testing.T, m *matrix) {
	e := m.proxy(t, m.toTLS, strings.Replace(m.readable, "user=postgres", "user=matrix_granted", 1), "--no-init")
	m.admin(t, "create role matrix_later login password 'one'")
	login := func(password, binding, want string) {
		t.Helper()
		conninfo := fmt.Sprintf("host=%s port=%d dbname=postgres user=matrix_later sslmode=require channel_binding=%s", e.Host, e.Port, binding)
		if got := loginPsql(t, conninfo, password); !strings.HasPrefix(got, want) {
			t.Errorf("password %s, channel_binding=%s: %q, want %q", password, binding, got, want)
		}
	}
	const wrong = `password authentication failed for user "matrix_later"`
	login("one", "disable", "matrix_later")
	login("one", "prefer", "SCRAM authentication through mbusproxy is not possible")

	m.admin(t, "grant select (rolname, rolpassword) on pg_authid to matrix_granted")
	awaitLogin(t, fmt.Sprintf("host=%s port=%d dbname=postgres user=matrix_later password=one sslmode=require channel_binding=require", e.Host, e.Port))
	login("one", "require", "matrix_later")
	login("wrong", "require", wrong)
	m.admin(t, "alter role matrix_later password 'two'")
	login("two", "require", "matrix_later")
	login("one", "require", wrong)
	login("two", "require", "matrix_later")
	m.admin(t, "alter role matrix_later valid until '2020-01-01'")
	login("two", "require", wrong)
	m.admin(t, "alter role matrix_later valid until 'infinity' nologin")
	login("two", "require", `role "matrix_later" is not permitted to log in`)
	m.admin(t, "alter role matrix_later login; set password_encryption = 'md5'; alter role matrix_later password 'two'")
	login("two", "prefer", wrong) // as direct: the line in pg_hba.conf wants SCRAM
	m.admin(t, "alter role matrix_later password null")
	login("two", "prefer", wrong)
	m.admin(t, "drop role matrix_later")
	login("two", "prefer", wrong) // pg_hba.conf names the role all the same
}

// awaitLogin waits until the proxy has noticed that it may read verifiers.
func awaitLogin(t *testing.T, conninfo string) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for ctx := harness.Context(t); ; {
		conn, err := pgconn.Connect(ctx, conninfo)
		if err == nil {
			harness.Close(conn)
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}
