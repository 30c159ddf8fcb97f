package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/internal/pgcluster"
)

// freePort returns a port that nobody listened on a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	port, err := pgcluster.FreePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func serveArgs(listen string, more ...string) []string {
	dsn := server.DSN("postgres")
	return append([]string{"serve", "--listen", listen, "--upstream", dsn, "--admin", dsn}, more...)
}

// startServe starts the proxy on a free port and returns its DSN.
func startServe(t *testing.T, more ...string) (*program, string) {
	t.Helper()
	port := freePort(t)
	p := start(t, nil, serveArgs(fmt.Sprintf("127.0.0.1:%d", port), more...)...)
	p.awaitText(p.log, "listening")
	return p, fmt.Sprintf("host=127.0.0.1 port=%d user=postgres dbname=postgres sslmode=disable", port)
}

func TestServeEndsWhenIdle(t *testing.T) {
	t.Parallel()
	p, dsn := startServe(t)
	if got := ask(t, dsn, "select 'here'"); got != "here" {
		t.Error(got)
	}
	p.signal(syscall.SIGTERM)
	p.wantStatus(0)
}

func TestServeLetsBusySessionsFinish(t *testing.T) {
	t.Parallel()
	p, dsn := startServe(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGTERM)
	p.awaitText(p.log, "draining")
	var one int
	if err := tx.QueryRow(t.Context(), "select 1").Scan(&one); err != nil {
		t.Errorf("a session in a transaction was cut off: %v", err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Errorf("it could not commit: %v", err)
	}
	p.wantStatus(0)
}

func TestServeSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	p, dsn := startServe(t, "--drain-timeout", "10m")
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGINT)
	p.awaitText(p.log, "draining")
	p.signal(syscall.SIGINT)
	p.wantStatus(1)
}

func TestServeReadsItsConfigFile(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	path := filepath.Join(t.TempDir(), "mbusproxy.conf")
	text := fmt.Sprintf("listen = 127.0.0.1:%d\nupstream = %s\nadmin = '%s'\nmax-connections = 1\n",
		port, server.DSN("postgres"), server.DSN("postgres"))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, nil, "serve", "--config", path)
	p.awaitText(p.log, "listening")
	dsn := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres dbname=postgres sslmode=disable", port)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := pgx.Connect(t.Context(), dsn); err == nil || !strings.Contains(err.Error(), "53300") {
		t.Errorf("beyond max-connections: %v", err)
	}
	p.signal(syscall.SIGTERM)
	p.wantStatus(0)
}

func TestServeExplainsItself(t *testing.T) {
	t.Parallel()
	good := server.DSN("postgres")
	nobodyThere := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres dbname=postgres sslmode=disable", freePort(t))

	t.Run("port taken", func(t *testing.T) {
		t.Parallel()
		run1(t, nil, serveArgs(hold(t))...).wantFailure(1, "address already in use", "choose another with --listen")
	})
	t.Run("address senseless", func(t *testing.T) {
		t.Parallel()
		run1(t, nil, serveArgs("6432")...).wantFailure(1, "6432", "-h")
	})
	t.Run("upstream unreachable", func(t *testing.T) {
		t.Parallel()
		run1(t, nil, "serve", "--listen", "127.0.0.1:0", "--upstream", nobodyThere, "--admin", good).
			wantFailure(1, "the upstream server cannot be reached", "--upstream")
	})
	t.Run("upstream unreadable", func(t *testing.T) {
		t.Parallel()
		run1(t, nil, "serve", "--listen", "127.0.0.1:0", "--upstream", "port=none", "--admin", good).
			wantFailure(1, "the DSN of the upstream server cannot be read", "for example")
	})
	t.Run("admin unreachable", func(t *testing.T) {
		t.Parallel()
		run1(t, nil, "serve", "--listen", "127.0.0.1:0", "--upstream", good, "--admin", nobodyThere).
			wantFailure(1, "connection refused", "--admin")
	})
	t.Run("admin database missing", func(t *testing.T) {
		t.Parallel()
		p := run1(t, nil, "init", "--admin", server.DSN("nowhere"))
		p.wantStatus(1)
		if !strings.Contains(p.log.String(), `"nowhere" does not exist`) {
			t.Errorf("got %s", p.log)
		}
	})
	t.Run("certificate missing", func(t *testing.T) {
		t.Parallel()
		run1(t, nil, serveArgs("127.0.0.1:0", "--tls-cert", "/none.pem", "--tls-key", "/none.key")...).
			wantFailure(1, "the certificate cannot be used", "--tls-cert")
	})
}

func TestAdminRoleLackingRights(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), server.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, sql := range []string{"create role weak login", "create database poor"} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	weak := strings.Replace(server.DSN("poor"), "user=postgres", "user=weak", 1)
	for _, args := range [][]string{
		{"serve", "--listen", "127.0.0.1:0", "--upstream", weak, "--admin", weak},
		{"init", "--admin", weak},
	} {
		run1(t, nil, args...).wantFailure(1, "weak", "")
	}
}

func TestInitCreatesTheSchemaOnce(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), server.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "create database fresh"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flag string
		want []string // what is printed, or its beginning
	}{
		{"--dry-run", []string{"-- the schema\n\ncreate schema mbus4;", "-- step baseline", "create table mbus4.queue (", "-- function at_post_", "grant usage on schema mbus4 to mbus4_user;"}},
		{"", []string{"step 1 of 1, baseline\nstep 1 of 1, baseline: done\n", "\ndatabase fresh: schema mbus4 created, version 21\n"}},
		{"--dry-run", []string{"-- Nothing is missing.\n"}},
		{"", []string{"database fresh: schema mbus4 is up to date, version 21\n"}},
		{"--prune", []string{"functions of other versions dropped: 0\ndatabase fresh: schema mbus4 is up to date, version 21\n"}},
	} {
		args := []string{"init", "--admin", server.DSN("fresh")}
		if c.flag != "" {
			args = append(args, c.flag)
		}
		p := run1(t, nil, args...)
		p.wantStatus(0)
		for _, want := range c.want {
			if !strings.Contains(p.out.String(), want) {
				t.Errorf("%s: want %q, got %s", c.flag, want, p.out)
			}
		}
	}
}
