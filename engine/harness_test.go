package engine

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"mbusproxy/engine/admin"
	"mbusproxy/internal/pgcluster"
)

// cluster is the server all tests of this package share. Each test makes its own database in it.
var cluster *pgcluster.Cluster

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	var err error
	cluster, err = pgcluster.Temp(pgcluster.Config{Settings: map[string]string{
		"max_connections":           "200",
		"max_prepared_transactions": "10",
		"autovacuum":                "off", // no horizon, no plan changes but by the test itself
	}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "engine tests need a Postgres:", err)
		return 1
	}
	defer func() {
		if err := cluster.Stop(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	code := m.Run()
	if left := engineGoroutines(); left != "" {
		fmt.Fprintln(os.Stderr, "goroutines of the engine outlived the tests:\n"+left)
		return 1
	}
	return code
}

// engineGoroutines shows the goroutines running this package's code, this one excepted.
func engineGoroutines() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var left []string
	for i, g := range strings.Split(string(buf), "\n\n") {
		if i > 0 && strings.Contains(g, "mbusproxy/engine.") {
			left = append(left, g)
		}
	}
	return strings.Join(left, "\n\n")
}

var databases atomic.Int32

// testContext ends with the test, or when something hangs.
func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// newDatabase makes an empty database that goes with the test, and gives its name.
func newDatabase(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("engine_%d_%d", os.Getpid(), databases.Add(1))
	admin := connect(t, "postgres")
	mustExec(t, admin, "create database "+name)
	t.Cleanup(func() {
		admin := connect(t, "postgres")
		mustExec(t, admin, "drop database if exists "+name+" with (force)")
		admin.Close(context.Background(), admin)
	})
	return name
}

// installed makes a database with the schema in it.
func installed(t *testing.T) string {
	t.Helper()
	name := newDatabase(t)
	if _, err := Init(testContext(t), cluster.DSN(name)); err != nil {
		t.Fatal(err)
	}
	return name
}

// connect opens a superuser's session that the end of the test closes.
func connect(t *testing.T, database string) *pgx.Conn {
	t.Helper()
	return connectTo(t, cluster.DSN(database))
}

func connectTo(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(testContext(t), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close(context.Background(), conn) })
	return conn
}

// openEngine opens an engine that the end of the test closes.
func openEngine(t *testing.T, opt Options) *Engine {
	t.Helper()
	if opt.AdminDSN == "" {
		opt.AdminDSN = cluster.DSN("postgres")
	}
	e, err := Open(testContext(t), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func mustExec(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(testContext(t), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func one[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(testContext(t), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// eventually repeats check until it holds. It waits on the server, not on a clock of its own.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	ctx := testContext(t)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !check() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("never happened: %s", what)
		}
	}
}

// newest is the version of the schema this program makes.
const newest = 17

// watchLog makes a log, a function that tells whether a line with that text is in it, and one that gives all lines.
func watchLog() (log *zap.Logger, seen func(text string) bool, all func() []string) {
	core, lines := observer.New(zap.InfoLevel)
	seen = func(text string) bool { return lines.FilterMessageSnippet(text).Len() > 0 }
	all = func() (out []string) {
		for _, line := range lines.All() {
			out = append(out, fmt.Sprint(line.Message, line.ContextMap()))
		}
		return out
	}
	return zap.New(core), seen, all
}
