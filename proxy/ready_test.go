package proxy

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/pgcluster"
)

// readyServer is a Postgres with few connections, and a role plain that may use them as anybody.
func readyServer(t *testing.T, most int) *pgcluster.Cluster {
	t.Helper()
	c, err := pgcluster.Temp(pgcluster.Config{Settings: map[string]string{
		"max_connections": fmt.Sprint(most), "superuser_reserved_connections": "2", "max_wal_senders": "0", "shared_buffers": "16MB",
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop(context.Background()) })
	conn, err := pgconn.Connect(t.Context(), c.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "create role plain login; create role plain2 login").ReadAll(); err != nil {
		t.Fatal(err)
	}
	return c
}

// readyWith is a proxy before the server that asks it as a role.
func readyWith(t *testing.T, c *pgcluster.Cluster, admin string) *running {
	return start(t, how{}, func(cfg *Config) { cfg.Upstream, cfg.Admin = c.DSN("postgres"), c.DSN("postgres")+" user="+admin })
}

// Whatever role is asked with, the server is ready exactly as long as a client gets a connection that is no
// superuser.
func TestReadyAsClientsAre(t *testing.T) {
	t.Parallel()
	const most = 8
	c := readyServer(t, most)
	asSuperuser, asPlain := readyWith(t, c, "postgres"), readyWith(t, c, "plain2")
	var open []*pgconn.PgConn
	defer func() {
		for _, conn := range open {
			_ = conn.Close(context.Background())
		}
	}()
	enter := func(user string) error {
		conn, err := pgconn.Connect(t.Context(), c.DSN("postgres")+" user="+user)
		if err == nil {
			open = append(open, conn)
		}
		return err
	}
	enterAtLast := func(user string) { // who has asked may not have left
		t.Helper()
		var err error
		for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
			if err = enter(user); err == nil {
				return
			}
		}
		t.Fatal(err)
	}
	check := func(what string, want error) {
		t.Helper()
		for name, p := range map[string]*running{"a superuser": asSuperuser, "a plain role": asPlain} {
			// The last session may not have ended at the server.
			var err error
			for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
				if err = p.Ready(t.Context()); errors.Is(err, want) || want == nil && err == nil {
					break
				}
			}
			if !errors.Is(err, want) {
				t.Errorf("%s, asked as %s: %v, not %v", what, name, err, want)
			}
		}
	}
	for range most - 2 {
		check(fmt.Sprintf("with %d connections", len(open)), nil)
		enterAtLast("plain")
	}
	check("without any left for clients", ErrNoRoom)
	if err := enter("plain"); err == nil {
		t.Error("a client gets in")
	}
	for range 2 {
		enterAtLast("postgres")
	}
	check("without any left", ErrNoRoom)
	for _, conn := range open[:4] {
		_ = conn.Close(t.Context())
	}
	open = open[4:]
	check("with some left again", nil)
}

// A server that takes connections and says nothing is not ready, nor is one that stops, or is gone; one that does not let the
// admin role in is.
func TestReadyOfSilence(t *testing.T) {
	t.Parallel()
	c := readyServer(t, 10)
	p, other := readyWith(t, c, "postgres"), readyWith(t, c, "nobody_at_all")
	for _, p := range []*running{p, other} {
		if err := p.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Kill(c.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for _, p := range []*running{p, other} {
		if err := p.Ready(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("of a server that is stopped: %v", err)
		}
	}
	if err := syscall.Kill(c.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := p.Ready(t.Context()); err != nil {
		t.Errorf("of one that goes on: %v", err)
	}
	hold, err := pgconn.Connect(t.Context(), c.DSN("postgres")) // so that it does not stop at once
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hold.Close(context.Background()) }()
	if err := syscall.Kill(c.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var refused *pgconn.PgError
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
		if err = p.Ready(t.Context()); err != nil {
			break
		}
	}
	if !errors.As(err, &refused) || refused.Code != "57P03" {
		t.Errorf("of one that stops: %v", err)
	}
	c.Kill()
	for _, p := range []*running{p, other} {
		if p.Ready(t.Context()) == nil {
			t.Error("one that is gone is ready")
		}
	}
}
