package integration

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// testLimit bounds each test; a hang becomes a failure with a name.
const testLimit = 90 * time.Second

// testContext ends with the test, and after testLimit in any case.
func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	t.Cleanup(cancel)
	return ctx
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

// connectAs is connect for another role.
func connectAs(t *testing.T, e endpoint, database, role string) *pgconn.PgConn {
	t.Helper()
	conn, err := pgconn.Connect(testContext(t), e.dsn(database)+" user="+role)
	if err != nil {
		t.Fatalf("connecting %s to %s as %s: %v", e.name, database, role, err)
	}
	t.Cleanup(func() { closeConn(conn.Close) })
	return conn
}

// connectNotices is connect through the proxy, with what comes as a notice. The list is for the goroutine that uses
// the session.
func connectNotices(t *testing.T, database string) (*pgconn.PgConn, *[]*pgconn.Notice) {
	t.Helper()
	config, err := pgconn.ParseConfig(proxied().dsn(database))
	if err != nil {
		t.Fatal(err)
	}
	var notices []*pgconn.Notice
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notices = append(notices, n) }
	conn, err := pgconn.ConnectConfig(testContext(t), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeConn(conn.Close) })
	return conn, &notices
}
