package doctor

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine"
	"mbusproxy/engine/schema"
	"mbusproxy/internal/pgcluster"
)

func start(t *testing.T) *pgcluster.Cluster {
	t.Helper()
	c, err := pgcluster.Temp(pgcluster.Config{Settings: map[string]string{"max_prepared_transactions": "2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop(context.Background()) })
	return c
}

func run(t *testing.T, dsn string, statements ...string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	for _, sql := range statements {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	return conn
}

// diagnose gives all findings, those of one check behind its name.
func diagnose(t *testing.T, s Server) (found map[string][]Finding, failed bool) {
	t.Helper()
	if s.OldestMajor == 0 {
		s.OldestMajor = 15
	}
	found = map[string][]Finding{}
	failed = Examine(t.Context(), s, func(f Finding) {
		found[f.Check] = append(found[f.Check], f)
		if f.Found == "" || (f.Mend == "") != (f.State == OK) {
			t.Errorf("%+v", f)
		}
	})
	return found, failed
}

func wants(t *testing.T, found map[string][]Finding, check string, state State, words string) {
	t.Helper()
	for _, f := range found[check] {
		if f.State == state && strings.Contains(f.Found+" "+f.Mend, words) {
			return
		}
	}
	t.Errorf("%s: %+v, not %s with %q", check, found[check], state, words)
}

func TestExamine(t *testing.T) {
	t.Parallel()
	c := start(t)
	dsn := c.DSN("postgres")

	found, failed := diagnose(t, Server{Upstream: dsn, Admin: dsn})
	if failed {
		t.Errorf("%+v", found)
	}
	for _, check := range []string{"upstream", "version", "pooler", "admin", "hstore", "schema", "channel binding", "old snapshots", "vacuum", "clock"} {
		wants(t, found, check, OK, "")
	}
	wants(t, found, "schema", OK, "not there yet")
	wants(t, found, "rights", Warning, "mbus4_user")

	if _, err := engine.Init(t.Context(), dsn, schema.Options{}); err != nil {
		t.Fatal(err)
	}
	run(t, dsn, "create role app login in role mbus4_user", "create role weak login", "alter system set default_transaction_isolation = 'repeatable read'", "select pg_reload_conf()")
	holder := run(t, dsn, "begin isolation level repeatable read; select 1")
	run(t, dsn, "begin; create table t (); prepare transaction 'forgotten'")
	found, failed = diagnose(t, Server{Upstream: dsn, Admin: dsn, LongHeld: time.Nanosecond})
	if failed {
		t.Errorf("%+v", found)
	}
	wants(t, found, "schema", OK, "mbus4 is there, version ")
	wants(t, found, "rights", OK, "mbus4_user")
	wants(t, found, "settings", Warning, "default_transaction_isolation is repeatable read")
	wants(t, found, "old snapshots", Warning, fmt.Sprint("session ", holder.PgConn().PID()))
	wants(t, found, "old snapshots", Warning, `prepared transaction "forgotten"`)

	// A role that may not, no role, a server that is too old, no server.
	weak := strings.Replace(dsn, "user=postgres", "user=weak", 1)
	if weak == dsn {
		t.Fatal(dsn)
	}
	found, failed = diagnose(t, Server{Upstream: dsn, Admin: weak})
	if !failed {
		t.Errorf("%+v", found)
	}
	wants(t, found, "admin", Failure, "does not own the schema mbus4")
	wants(t, found, "channel binding", Warning, "pg_authid")
	found, failed = diagnose(t, Server{Upstream: dsn, Admin: strings.Replace(dsn, "user=postgres", "user=nobody_here", 1)})
	if !failed {
		t.Errorf("%+v", found)
	}
	wants(t, found, "admin", Failure, "nobody_here")
	found, failed = diagnose(t, Server{Upstream: dsn, Admin: dsn, OldestMajor: 99})
	if !failed {
		t.Errorf("%+v", found)
	}
	wants(t, found, "version", Failure, "99")
	nowhere := "host=127.0.0.1 port=1 user=postgres"
	found, failed = diagnose(t, Server{Upstream: nowhere, Admin: nowhere})
	if !failed {
		t.Errorf("%+v", found)
	}
	wants(t, found, "upstream", Failure, "no host takes connections")
}

// A pooler between the proxy and the server is found.
func TestExamineBehindPooler(t *testing.T) {
	t.Parallel()
	c := start(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\npostgres = user=postgres dbname=postgres host=127.0.0.1 port=%d\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\nignore_startup_parameters = extra_float_digits,default_transaction_read_only,statement_timeout\n", c.Port(), port)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	binary, err := exec.LookPath("pgbouncer")
	if err != nil {
		binary = "/usr/sbin/pgbouncer"
	}
	args := []string{config}
	if os.Getuid() == 0 {
		args = []string{"-u", "postgres", config}
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for lines := bufio.NewScanner(errs); lines.Scan(); { // until it is up
		if strings.Contains(lines.Text(), "process up") {
			break
		}
	}
	dsn := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres dbname=postgres sslmode=disable", port)
	found, failed := diagnose(t, Server{Upstream: dsn, Admin: dsn})
	if failed {
		t.Errorf("%+v", found)
	}
	wants(t, found, "pooler", Warning, "transaction mode")
}

// What the owner of a database sets for the sessions in it, and what he puts where they look for
// names, does not run as the role that examines.
func TestOwnerOfDatabase(t *testing.T) {
	t.Parallel()
	c := start(t)
	run(t, c.DSN("postgres"), "create role owner", "create database owned owner owner")
	conn := run(t, c.DSN("owned"), "set role owner", "create schema evil",
		`create function evil.caught(text) returns text language plpgsql as 'begin raise exception ''caught: %'', $1; end'`,
		"create function evil.current_setting(text) returns text language sql as 'select evil.caught($1)'",
		"create function evil.same(name, name) returns boolean language sql as 'select evil.caught(''=='')::boolean'",
		"create operator evil.= (leftarg = name, rightarg = name, function = evil.same)",
		"create function evil.or_null(text, text) returns boolean language sql as 'select evil.caught(''=='')::boolean'",
		"create operator evil.= (leftarg = text, rightarg = text, function = evil.or_null)",
		"alter database owned set search_path = evil, pg_catalog", "alter database owned set role = owner")
	if err := conn.QueryRow(t.Context(), "select evil.current_setting('x')").Scan(new(string)); err == nil || !strings.Contains(err.Error(), "caught") {
		t.Fatalf("this is no test: %v", err)
	}
	found, _ := diagnose(t, Server{Upstream: c.DSN("owned"), Admin: c.DSN("owned")})
	if text := fmt.Sprint(found); strings.Contains(text, "caught") || strings.Contains(text, "role owner") {
		t.Errorf("%s", text)
	}
	if len(found["settings"]) == 0 || len(found["version"]) == 0 {
		t.Errorf("little was found: %v", found)
	}
}
