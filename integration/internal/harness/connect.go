package harness

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestLimit bounds each test; a hang becomes a failure with a name.
const TestLimit = 6 * time.Minute

// Context ends with the test, and after TestLimit in any case.
func Context(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), TestLimit)
	t.Cleanup(cancel)
	return ctx
}

// Connect opens a bare protocol connection that is closed with the test.
func Connect(t *testing.T, e Endpoint, database string) *pgconn.PgConn {
	t.Helper()
	return ConnectAs(t, e, database, "postgres")
}

// ConnectAs is Connect for another role. settings are of the form name=value, as in a DSN.
func ConnectAs(t *testing.T, e Endpoint, database, role string, settings ...string) *pgconn.PgConn {
	t.Helper()
	return open(t, strings.Join(append([]string{e.DSN(database), "user=" + role}, settings...), " "), nil)
}

// ConnectNotices is Connect through the proxy, with what comes as a notice. The list is for the goroutine that uses
// the session.
func ConnectNotices(t *testing.T, database string) (*pgconn.PgConn, *[]*pgconn.Notice) {
	t.Helper()
	var notices []*pgconn.Notice
	conn := open(t, Proxied().DSN(database), func(_ *pgconn.PgConn, n *pgconn.Notice) { notices = append(notices, n) })
	return conn, &notices
}

func open(t *testing.T, dsn string, onNotice pgconn.NoticeHandler) *pgconn.PgConn {
	t.Helper()
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.OnNotice = onNotice
	conn, err := pgconn.ConnectConfig(Context(t), config)
	if err != nil {
		t.Fatalf("connecting with %s: %v", dsn, err)
	}
	t.Cleanup(func() { Close(conn) })
	return conn
}

// ConnectPgx opens a pgx connection in the given mode that is closed with the test.
func ConnectPgx(t *testing.T, e Endpoint, database string, mode pgx.QueryExecMode) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(e.DSN(database))
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = mode
	conn, err := pgx.ConnectConfig(Context(t), config)
	if err != nil {
		t.Fatalf("connecting %s to %s: %v", e.Name, database, err)
	}
	t.Cleanup(func() { Close(conn) })
	return conn
}

// Close closes a connection politely but never waits long; the server may be gone already.
func Close(conn interface{ Close(context.Context) error }) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// Abort breaks the TCP connection under a session with a reset, as a crash would.
func Abort(conn *pgconn.PgConn) error {
	tcp, ok := conn.Conn().(*net.TCPConn)
	if !ok {
		return fmt.Errorf("not a TCP connection: %T", conn.Conn())
	}
	if err := tcp.SetLinger(0); err != nil {
		return err
	}
	return tcp.Close()
}
