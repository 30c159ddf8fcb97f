package harness

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/pgcluster"
)

// The two ways to a test's database, the room's folder for what it builds, and the program under test, with the race
// detector. Main sets them before any test runs; nobody changes them after that.
var (
	directEnd, proxiedEnd Endpoint
	folder, proxyBinary   string
)

const proxyProgram = "mbusproxy/cmd/mbusproxy"

// Binary is the program under test, for its commands.
func Binary() string { return proxyBinary }

// Direct is the way past the proxy, to the room's own cluster.
func Direct() Endpoint { return directEnd }

// Proxied is the way through the room's own proxy, to the same cluster.
func Proxied() Endpoint { return proxiedEnd }

// Both lists the two in the order in which results are compared.
func Both() []Endpoint { return []Endpoint{Direct(), Proxied()} }

// Long reports whether tests are to do all they can (make test-long).
func Long() bool { return os.Getenv("MBUS_LONG") != "" }

// Main is the TestMain of a room: it makes the proxy, starts a cluster and the proxy in front of it, runs the
// tests, stops both and ends the process. The lines of hba are the cluster's pg_hba.conf; without any it trusts
// loopback.
func Main(m *testing.M, hba ...string) { MainWith(m, nil, hba...) }

// Tests is a testing.M, or one that does something before and after.
type Tests interface{ Run() (code int) }

// MainWith is Main with more flags for the room's proxy.
func MainWith(m Tests, flags []string, hba ...string) {
	// A child with Pdeathsig dies with the thread that started it, so that thread must last.
	runtime.LockOSThread()
	flag.Parse()
	if f := flag.Lookup("test.list"); f.Value.String() != "" {
		os.Exit(m.Run()) // which runs nothing
	}
	code, err := runAll(m, flags, hba)
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		code = 1
	}
	os.Exit(code)
}

// runAll starts what the tests need, runs them, and stops it again in every case.
func runAll(m Tests, flags, hba []string) (code int, err error) {
	if folder, err = os.MkdirTemp("", "mbus-integration"); err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if proxyBinary, err = Build("mbusproxy", proxyProgram, "-race"); err != nil {
		return 1, err
	}
	cluster, err := pgcluster.Temp(pgcluster.Config{
		Settings: map[string]string{
			"max_connections":           "400",
			"max_prepared_transactions": "4",
			"timezone":                  "UTC", // clients compare their own clock, run with TZ=UTC
		},
		HBA: hba,
	})
	if err != nil {
		return 1, fmt.Errorf("starting Postgres: %w", err)
	}
	defer StopCluster(cluster)

	directEnd = Endpoint{Name: "direct", Host: cluster.Host(), Port: cluster.Port()}
	if err := makeTemplate(); err != nil {
		return 1, err
	}
	proxy, err := startProxy(proxyBinary, flags...)
	if err != nil {
		return 1, err
	}
	proxiedEnd = proxy.Endpoint

	code = m.Run()

	// The proxy's own end is a test too: status 0 on SIGTERM, no data race and no panic.
	if err := proxy.Stop(); err != nil {
		code = 1
		fmt.Fprintln(os.Stderr, "integration:", err)
	}
	if code != 0 {
		fmt.Fprintf(os.Stderr, "--- the proxy's stderr (last part) ---\n%s\n", proxy.LogTail())
	}
	return code, nil
}

// makeTemplate makes the database that NewQueueDatabase copies.
func makeTemplate() error {
	ctx, cancel := context.WithTimeout(context.Background(), AskLimit)
	defer cancel()
	conn, err := pgconn.Connect(ctx, Direct().DSN("postgres"))
	if err != nil {
		return fmt.Errorf("making the template: %w", err)
	}
	defer Close(conn)
	if _, err := conn.Exec(ctx, "create database "+QueueTemplate).ReadAll(); err != nil {
		return fmt.Errorf("making the template: %w", err)
	}
	if out, err := exec.CommandContext(ctx, proxyBinary, "init", "--admin", Direct().DSN(QueueTemplate)).CombinedOutput(); err != nil {
		return fmt.Errorf("making the template: %w: %s", err, out)
	}
	return nil
}

// StopCluster ends a cluster that a test or a room has started.
func StopCluster(c *pgcluster.Cluster) {
	ctx, cancel := context.WithTimeout(context.Background(), AskLimit)
	defer cancel()
	if err := c.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "integration: stopping Postgres:", err)
	}
}
