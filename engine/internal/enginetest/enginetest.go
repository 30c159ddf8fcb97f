package enginetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
	"mbusproxy/internal/pgcluster"
	"mbusproxy/rewrite/parse"
)

// cluster is the server that all tests of a package share. Each test makes its own database in it.
var cluster *pgcluster.Cluster

// Main runs the tests of a package beside a server of its own, and returns the exit code.
// Goroutines of the engine must not outlive the tests.
func Main(m *testing.M) int {
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
		if i > 0 && strings.Contains(g, "mbusproxy/engine") {
			left = append(left, g)
		}
	}
	return strings.Join(left, "\n\n")
}

var databases atomic.Int32

// Context ends with the test, or when something hangs.
func Context(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// NewDatabase makes an empty database that goes with the test, and gives its name.
func NewDatabase(t *testing.T) string {
	t.Helper()
	return NewDatabaseOf(t, "template template1 strategy file_copy")
}

// NewDatabaseOf is NewDatabase with these options of CREATE DATABASE.
func NewDatabaseOf(t *testing.T, options string) string {
	t.Helper()
	name := fmt.Sprintf("engine_%d_%d", os.Getpid(), databases.Add(1))
	conn := Connect(t, "postgres")
	Exec(t, conn, "create database "+name+" "+options)
	t.Cleanup(func() {
		conn := Connect(t, "postgres")
		Exec(t, conn, "drop database if exists "+name+" with (force)")
		admin.Close(context.Background(), conn)
	})
	return name
}

// Installed makes a database with the schema in it: a copy, which is faster than making the schema each time.
func Installed(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("engine_%d_template", os.Getpid())
	makeTemplate.Do(func() {
		conn := Connect(t, "postgres")
		Exec(t, conn, "create database "+name)
		conn = Connect(t, name)
		Prepare(t, conn)
		admin.Close(context.Background(), conn)
	})
	return NewDatabaseOf(t, "template "+name+" strategy file_copy")
}

var makeTemplate sync.Once

// Prepare installs the schema, unless it is there, in the database that conn is connected to.
func Prepare(t *testing.T, conn *pgx.Conn) schema.Installation {
	t.Helper()
	in, _, err := schema.Prepare(Context(t), conn, schema.Options{Parser: parse.New()}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// Server is the server of the tests, as package admin sees it.
func Server(t *testing.T) *admin.Server {
	t.Helper()
	server, err := admin.Parse(DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// Connect opens a superuser's session that the end of the test closes.
func Connect(t *testing.T, database string) *pgx.Conn {
	t.Helper()
	return ConnectTo(t, DSN(database))
}

// ConnectTo opens a session that the end of the test closes.
func ConnectTo(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(Context(t), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close(context.Background(), conn) })
	return conn
}

// storedFunction is a function that serves calls in place, without the hash that ends its name.
var storedFunction = regexp.MustCompile(`mbus4\.(at_[a-z_]+)\(`)

// Stored writes the whole names of the functions in place of mbus4.at_post( and the like.
func Stored(t *testing.T, conn *pgx.Conn, sql string) string {
	t.Helper()
	return storedFunction.ReplaceAllStringFunc(sql, func(found string) string {
		name := storedFunction.FindStringSubmatch(found)[1]
		var whole string
		err := conn.QueryRow(Context(t), `select min(proname) from pg_proc where pronamespace = 'mbus4'::regnamespace and proname ~ ('^' || $1 || '_[0-9a-f]{8}$')`, name).Scan(&whole)
		if err != nil {
			t.Fatalf("function %s: %v", name, err)
		}
		return "mbus4." + whole + "("
	})
}

// Exec runs statements, which must succeed. A function that serves calls in place is written without its hash, as
// mbus4.at_post(.
func Exec(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(Context(t), Stored(t, conn, sql), args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// One gives the one value of the first row. Functions are written as for Exec.
func One[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(Context(t), Stored(t, conn, sql), args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// Eventually repeats check until it holds. It waits on the server, not on a clock of its own.
func Eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	ctx := Context(t)
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

// Newest is the version of the schema this program makes.
const Newest = 21

// WatchLog makes a log, a function that tells whether a line with that text is in it, and one that gives all lines.
func WatchLog() (log *zap.Logger, seen func(text string) bool, all func() []string) {
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

// DSN names a database of the server, as a superuser.
func DSN(database string) string { return cluster.DSN(database) }

// ConnectListening is connect, with a place where the server's notices go.
func ConnectListening(t *testing.T, database string) (*pgx.Conn, *strings.Builder) {
	t.Helper()
	cfg, err := pgx.ParseConfig(DSN(database))
	if err != nil {
		t.Fatal(err)
	}
	notices := &strings.Builder{}
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notices.WriteString(n.Message + "\n") }
	conn, err := pgx.ConnectConfig(Context(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close(context.Background(), conn) })
	return conn, notices
}

// Refused gives err as the *Error with that SQLSTATE that it has to be.
func Refused(t *testing.T, err error, code string) *refusal.Error {
	t.Helper()
	var e *refusal.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error with code %s", err, code)
	}
	if e.Code != code || e.Message == "" {
		t.Fatalf("got code %s (%v), want %s and a message", e.Code, e, code)
	}
	return e
}

// WantCode checks that err is an *Error with that SQLSTATE.
func WantCode(t *testing.T, err error, code string) {
	t.Helper()
	_ = Refused(t, err, code)
}

// TemporaryDSN makes a database for an example and gives its DSN; remove drops it.
func TemporaryDSN() (dsn string, remove func()) {
	ctx := context.Background()
	name := fmt.Sprintf("example_%d_%d", os.Getpid(), databases.Add(1))
	run := func(sql string) {
		err := execAsAdmin(ctx, sql)
		if err != nil {
			panic(err)
		}
	}
	run("create database " + name)
	return DSN(name), func() { run("drop database " + name + " with (force)") }
}

func execAsAdmin(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, DSN("postgres"))
	if err != nil {
		return err
	}
	defer admin.Close(ctx, conn)
	_, err = conn.Exec(ctx, sql)
	return err
}
