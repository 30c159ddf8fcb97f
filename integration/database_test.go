package integration

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// testLimit bounds each test; a hang becomes a failure with a name.
const testLimit = 90 * time.Second

// endpoint is a way to the cluster.
type endpoint struct {
	name string
	host string
	port int
}

// dsn names a database behind the endpoint, for the superuser of the throw-away cluster.
func (e endpoint) dsn(database string) string {
	return fmt.Sprintf("host=%s port=%d user=postgres dbname=%s sslmode=disable", e.host, e.port, database)
}

// url is dsn for clients that want a URL.
func (e endpoint) url(database string) string {
	return fmt.Sprintf("postgres://postgres@%s:%d/%s?sslmode=disable", e.host, e.port, database)
}

// both lists the endpoints in the order in which results are compared.
func both() []endpoint { return []endpoint{direct, proxied} }

var databaseCount atomic.Int64

// queueTemplate is a database with the schema in it, which most tests get a copy of: that is faster
// than making the schema each time.
const queueTemplate = "it_template"

// newDatabase makes an empty database and drops it when the test ends, whoever is still in it.
func newDatabase(t *testing.T) string { return newDatabaseFrom(t, "template1") }

func newDatabaseFrom(t *testing.T, template string) string {
	t.Helper()
	name := fmt.Sprintf("it_%d", databaseCount.Add(1))
	admin(t, "create database "+name+" template "+template)
	t.Cleanup(func() { admin(t, "drop database "+name+" with (force)") })
	return name
}

// newQueueDatabase is newDatabase with the schema and the empty queues given.
func newQueueDatabase(t *testing.T, queues ...string) string {
	t.Helper()
	name := newDatabaseFrom(t, queueTemplate)
	conn := connect(t, proxied, name)
	for _, q := range queues {
		ask(t, conn, fmt.Sprintf("select mbus4.create_queue('%s', 1)", q))
	}
	return name
}

// admin runs one statement in the database postgres, directly. It works in cleanups too.
func admin(t *testing.T, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgconn.Connect(ctx, direct.dsn("postgres"))
	if err != nil {
		t.Fatalf("connecting for %q: %v", sql, err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
		t.Errorf("%s: %v", sql, err)
	}
}

// testContext ends with the test, and after testLimit in any case.
func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	t.Cleanup(cancel)
	return ctx
}

// progressContext ends with the test, and when moved has not been called for testLimit: for tests that take as long
// as the machine lets them.
func progressContext(t *testing.T) (ctx context.Context, moved func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	watchdog := time.AfterFunc(testLimit, cancel)
	t.Cleanup(func() {
		watchdog.Stop()
		cancel()
	})
	return ctx, func() { watchdog.Reset(testLimit) }
}

// connect opens a bare protocol connection that is closed with the test.
func connect(t *testing.T, e endpoint, database string) *pgconn.PgConn {
	t.Helper()
	conn, err := pgconn.Connect(testContext(t), e.dsn(database))
	if err != nil {
		t.Fatalf("connecting %s to %s: %v", e.name, database, err)
	}
	t.Cleanup(func() { closeConn(conn.Close) })
	return conn
}

// connectPgx opens a pgx connection in the given mode that is closed with the test.
func connectPgx(t *testing.T, e endpoint, database string, mode pgx.QueryExecMode) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(e.dsn(database))
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = mode
	conn, err := pgx.ConnectConfig(testContext(t), config)
	if err != nil {
		t.Fatalf("connecting %s to %s: %v", e.name, database, err)
	}
	t.Cleanup(func() { closeConn(conn.Close) })
	return conn
}

// closeConn closes politely but never waits long; the server may be gone already.
func closeConn(closeFn func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = closeFn(ctx)
}

// abort breaks the TCP connection under a session with a reset, as a crash would.
func abort(conn *pgconn.PgConn) error {
	tcp, ok := conn.Conn().(*net.TCPConn)
	if !ok {
		return fmt.Errorf("not a TCP connection: %T", conn.Conn())
	}
	if err := tcp.SetLinger(0); err != nil {
		return err
	}
	return tcp.Close()
}
