package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/pgcluster"
)

// SteppedServer is a Postgres of a test's own, whose clock can be set while it runs; its timers go on as they are.
type SteppedServer struct {
	Endpoint Endpoint
	file     string // says how far it is from ours

	mu  sync.Mutex
	off time.Duration
}

// NewSteppedServer starts one. It ends with the test.
func NewSteppedServer(t *testing.T) *SteppedServer {
	t.Helper()
	libraries, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if err != nil || len(libraries) == 0 {
		t.Fatal("libfaketime is missing: install faketime")
	}
	dir, err := os.MkdirTemp("", "mbus-clock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &SteppedServer{file: filepath.Join(dir, "clock")}
	if err := os.Chmod(dir, 0o755); err != nil { // the server may run as another user
		t.Fatal(err)
	}
	s.Step(t, 0)
	cluster, err := pgcluster.Temp(pgcluster.Config{
		Settings: map[string]string{"max_connections": "200", "timezone": "UTC"},
		Env: []string{
			"LD_PRELOAD=" + libraries[0], "FAKETIME_TIMESTAMP_FILE=" + s.file, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { StopCluster(cluster) })
	s.Endpoint = Endpoint{Name: "stepped", Host: cluster.Host(), Port: cluster.Port()}
	return s
}

// Step sets the server's clock forward, or back.
func (s *SteppedServer) Step(t *testing.T, by time.Duration) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off += by
	next := s.file + ".next"
	if err := os.WriteFile(next, fmt.Appendf(nil, "%+.6f\n", s.off.Seconds()), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, s.file); err != nil {
		t.Fatal(err)
	}
}

// Off is how far its clock is from ours.
func (s *SteppedServer) Off() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.off
}

// NewProxy starts a proxy in front of it.
func (s *SteppedServer) NewProxy(t *testing.T, flags ...string) *Proxy {
	t.Helper()
	return NewProxy(t, append([]string{"--upstream", s.Endpoint.DSN("postgres"), "--admin", s.Endpoint.DSN("postgres")}, flags...)...)
}

// NewQueueDatabase makes a database with the queues given, through one of its proxies.
func (s *SteppedServer) NewQueueDatabase(t *testing.T, through *Proxy, queues ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), AskLimit)
	defer cancel()
	conn, err := pgconn.Connect(ctx, s.Endpoint.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer Close(conn)
	name := fmt.Sprintf("it_%d", databaseCount.Add(1))
	if _, err := conn.Exec(ctx, "create database "+name).ReadAll(); err != nil {
		t.Fatal(err)
	}
	proxied := Connect(t, through.Endpoint, name)
	for _, q := range queues {
		Ask(t, proxied, fmt.Sprintf("select mbus4.create_queue('%s', 1)", q))
	}
	return name
}
