package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

var urlLine = regexp.MustCompile(`postgresql://\S+`)

// ask runs a query with one text result through a connection of its own.
func ask(t *testing.T, dsn, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var s string
	if err := conn.QueryRow(t.Context(), sql).Scan(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDevServesAndKeepsData(t *testing.T) {
	t.Parallel()
	data := filepath.Join(reachable(t), "data")
	for round, want := range []string{"1", "2"} {
		p := start(t, []string{"MBUS_DATA=" + data}, "dev", "--listen", "127.0.0.1:0")
		p.awaitText(p.out, "Ctrl-C")
		url := urlLine.FindString(p.out.String())
		if !strings.Contains(p.out.String(), "psql '") || !strings.Contains(p.out.String(), data) {
			t.Errorf("the greeting lacks something:\n%s", p.out)
		}
		ask(t, url, "select mbus4.create_queue('q', 1)::text")
		ask(t, url, "select mbus4.post('q', 'a=>1')")
		if got := ask(t, url, "select count(*)::text from mbus4.message"); got != want {
			t.Errorf("round %d: %s messages, want %s", round, got, want)
		}
		p.signal(syscall.SIGINT)
		p.wantStatus(0)
		noServerOn(t, data)
		if p.log.String() != "" {
			t.Errorf("round %d: dev complained:\n%s", round, p.log)
		}
	}
}

func TestDevTakesAnotherPortWhenTheUsualIsTaken(t *testing.T) {
	t.Parallel()
	if l, err := net.Listen("tcp", usualListen); err == nil { // else it is taken already
		defer func() { _ = l.Close() }()
	}
	data := filepath.Join(reachable(t), "data")
	p := start(t, nil, "dev", "--data", data)
	p.awaitText(p.out, "Ctrl-C")
	if !strings.Contains(p.out.String(), usualListen+" is taken") {
		t.Errorf("dev does not say that it moved:\n%s", p.out)
	}
	if got := ask(t, urlLine.FindString(p.out.String()), "select 'here'"); got != "here" {
		t.Error(got)
	}
	p.signal(syscall.SIGTERM)
	p.wantStatus(0)
	noServerOn(t, data)
}

func TestDevStopsPostgresWhenItFailsHalfWay(t *testing.T) {
	t.Parallel()
	data := filepath.Join(reachable(t), "data")
	run1(t, nil, "dev", "--data", data, "--listen", hold(t)).
		wantFailure(1, "address already in use", "choose another with --listen")
	noServerOn(t, data)
}

func TestDevEndsWithItsPostgres(t *testing.T) {
	t.Parallel()
	data := filepath.Join(reachable(t), "data")
	p := start(t, nil, "dev", "--data", data, "--listen", "127.0.0.1:0")
	p.awaitText(p.out, "Ctrl-C")
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.wantFailure(1, "the private Postgres ended by itself", "server.log")
}

func TestDevToldToEndWhileStarting(t *testing.T) {
	t.Parallel()
	data := filepath.Join(reachable(t), "data")
	p := start(t, nil, "dev", "--data", data, "--listen", "127.0.0.1:0")
	for exists := false; !exists; {
		_, err := os.Stat(data)
		exists = err == nil
	}
	p.signal(syscall.SIGTERM)
	p.wantStatus(0)
	noServerOn(t, data)
}

func TestDevExplainsItself(t *testing.T) {
	t.Parallel()
	dir := reachable(t)

	t.Run("no Postgres", func(t *testing.T) {
		t.Parallel()
		run1(t, []string{"MBUS_PG_BINDIR=" + dir}, "dev", "--data", dir+"/none").
			wantFailure(1, "no usable Postgres in "+dir, "initdb and postgres")
	})
	t.Run("hstore missing", func(t *testing.T) {
		t.Parallel()
		bin := fakePostgres(t, reachable(t), "postgres (PostgreSQL) 16.2")
		run1(t, []string{"MBUS_PG_BINDIR=" + bin}, "dev", "--data", dir+"/none").
			wantFailure(1, "hstore is not installed", "apt install postgresql-contrib")
	})
	t.Run("folder not writable", func(t *testing.T) {
		t.Parallel()
		run1(t, nil, "dev", "--data", "/proc/nowhere/data").
			wantFailure(1, "the data folder /proc/nowhere/data cannot be used", "choose a folder")
	})
	t.Run("other major version", func(t *testing.T) {
		t.Parallel()
		data := filepath.Join(reachable(t), "old")
		first := start(t, nil, "dev", "--data", data, "--listen", "127.0.0.1:0")
		first.awaitText(first.out, "Ctrl-C")
		first.signal(syscall.SIGINT)
		first.wantStatus(0)
		if err := os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("9.6\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		run1(t, nil, "dev", "--data", data).wantFailure(1, "was made by Postgres 9.6", "pg_upgrade")
	})
	t.Run("folder in use", func(t *testing.T) {
		t.Parallel()
		run1(t, nil, "dev", "--data", server.Dir()).wantFailure(1, "is running on the data folder", "stop it")
	})
}

func fakePostgres(t *testing.T, dir, version string) string {
	t.Helper()
	bin := filepath.Join(dir, "bin")
	for _, d := range []string{bin, filepath.Join(dir, "share", "extension")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho '"+version+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}
