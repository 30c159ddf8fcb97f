package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestHealthcheck: the exit code is 0 while the proxy serves, by HTTP, over TCP and over the unix
// socket, with the settings of serve from flags, environment or file; and 1 when it does not.
func TestHealthcheck(t *testing.T) {
	t.Parallel()
	dir := reachable(t)
	port, http := freePort(t), freePort(t)
	conf := filepath.Join(dir, "conf")
	text := fmt.Sprintf("listen = 0.0.0.0:%d, %s\nhttp = :%d\nupstream = %s\nadmin = %[4]s\n", port, dir, http, server.DSN("postgres"))
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ways := []struct {
		env  []string
		args []string
	}{
		{args: []string{"--config", conf}},
		{env: []string{fmt.Sprintf("MBUS_HTTP=0.0.0.0:%d", http)}},
		{env: []string{"HTTP_PROXY=http://127.0.0.1:1"}, args: []string{"--http", fmt.Sprintf("127.0.0.1:%d", http)}},
		{args: []string{"--listen", fmt.Sprintf("127.0.0.1:%d,%s", port, dir)}},
	}
	check := func(way int, status int) {
		t.Helper()
		h := run1(t, ways[way].env, append([]string{"healthcheck"}, ways[way].args...)...)
		if status == exitOK {
			h.wantStatus(exitOK)
			return
		}
		h.wantFailure(status, "the proxy does not serve clients: ", "log")
	}
	for way := range ways {
		check(way, exitFailure)
	}
	p := start(t, nil, "serve", "--config", conf)
	p.awaitText(p.log, "listening")
	for way := range ways {
		check(way, exitOK)
	}
	p.signal(syscall.SIGTERM)
	p.wantStatus(0)
	for way := range ways {
		check(way, exitFailure)
	}
}

// TestHealthcheckOfStrangers: who answers something else, or nothing, is no proxy that serves.
func TestHealthcheckOfStrangers(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("220 mail ESMTP\r\n"))
			_ = conn.Close()
		}
	}()
	run1(t, nil, "healthcheck", "--listen", l.Addr().String()).wantFailure(exitFailure, "not that of a Postgres server", "log")
}
