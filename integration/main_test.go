// Package integration runs the real mbusproxy binary, built with the race detector, between real
// clients and a real Postgres, and holds it to two promises: ordinary work has the same results
// direct and through the proxy, and a queue call belongs to the client's own transaction.
//
// One cluster and one proxy serve the whole run. Every test has a database of its own, so tests
// may run in parallel, and it can be reached from two endpoints: direct and proxied.
//
// A missing client (psql, node, java, a Python driver) is a failure that names what to install;
// no test is skipped. The package knows nothing of how the proxy works inside: it imports
// internal/pgcluster to have a Postgres, the catalogue to hold the manual to it, and nothing else of the
// product.
package integration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/pgcluster"
)

// The two ways to a test's database, and the program under test. TestMain sets them before any
// test runs; nobody changes them after that.
var (
	direct, proxied endpoint
	proxyBinary     string
)

func TestMain(m *testing.M) {
	// A child with Pdeathsig dies with the thread that started it, so that thread must last.
	runtime.LockOSThread()
	flag.Parse()
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		code = 1
	}
	os.Exit(code)
}

// runAll starts what the tests need, runs them, and stops it again in every case.
func runAll(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "mbus-integration")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)

	proxyBinary = filepath.Join(dir, "mbusproxy")
	if err := buildProxy(proxyBinary); err != nil {
		return 1, err
	}
	cluster, err := pgcluster.Temp(pgcluster.Config{
		Settings: map[string]string{
			"max_connections": "300",
			"timezone":        "UTC", // clients compare their own clock, run with TZ=UTC
		},
		HBA: hostBasedAuthentication(),
	})
	if err != nil {
		return 1, fmt.Errorf("starting Postgres: %w", err)
	}
	defer stopCluster(cluster)

	direct = endpoint{name: "direct", host: cluster.Host(), port: cluster.Port()}
	if err := makeTemplate(); err != nil {
		return 1, err
	}
	proxy, err := startProxy(proxyBinary, direct)
	if err != nil {
		return 1, err
	}
	proxied = proxy.endpoint

	code = m.Run()

	// The proxy's own end is a test too: status 0 on SIGTERM, no data race and no panic.
	if err := proxy.stop(); err != nil {
		code = 1
		fmt.Fprintln(os.Stderr, "integration:", err)
	}
	if code != 0 {
		fmt.Fprintf(os.Stderr, "--- the proxy's stderr (last part) ---\n%s\n", proxy.logTail())
	}
	return code, nil
}

// makeTemplate makes the database that newQueueDatabase copies.
func makeTemplate() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgconn.Connect(ctx, direct.dsn("postgres"))
	if err != nil {
		return fmt.Errorf("making the template: %w", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "create database "+queueTemplate).ReadAll(); err != nil {
		return fmt.Errorf("making the template: %w", err)
	}
	if out, err := exec.CommandContext(ctx, proxyBinary, "init", "--admin", direct.dsn(queueTemplate)).CombinedOutput(); err != nil {
		return fmt.Errorf("making the template: %w: %s", err, out)
	}
	return nil
}

func stopCluster(c *pgcluster.Cluster) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := c.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "integration: stopping Postgres:", err)
	}
}
