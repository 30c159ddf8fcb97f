package harness

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// databaseCount numbers databases and roles.
var databaseCount atomic.Int64

// QueueTemplate is a database with the schema in it, which most tests get a copy of: that is faster
// than making the schema each time.
const QueueTemplate = "it_template"

// NewDatabase makes an empty database and drops it when the test ends, whoever is still in it.
func NewDatabase(t *testing.T) string { return NewDatabaseFrom(t, "template1") }

// NewDatabaseFrom is NewDatabase as a copy of another one, which nobody may be connected to meanwhile.
func NewDatabaseFrom(t *testing.T, template string) string {
	t.Helper()
	name := fmt.Sprintf("it_%d", databaseCount.Add(1))
	Admin(t, "create database "+name+" template "+template+" strategy file_copy")
	t.Cleanup(func() { Admin(t, "drop database "+name+" with (force)") })
	return name
}

// NewQueueDatabase is NewDatabase with the schema and the empty queues given.
func NewQueueDatabase(t *testing.T, queues ...string) string {
	t.Helper()
	return NewQueueDatabaseAt(t, Proxied(), queues...)
}

// NewQueueDatabaseAt is NewQueueDatabase through another proxy: the shared one does not serve the
// database, and so grants no semaphores nor ticks schedules there, of which the other may learn by
// its sweep only.
func NewQueueDatabaseAt(t *testing.T, proxy Endpoint, queues ...string) string {
	t.Helper()
	name := NewDatabaseFrom(t, QueueTemplate)
	conn := Connect(t, proxy, name)
	for _, q := range queues {
		Ask(t, conn, fmt.Sprintf("select mbus4.create_queue('%s', 1)", q))
	}
	return name
}

// idleAdmins are connections of Admin that wait for its next statement.
var idleAdmins = make(chan *pgconn.PgConn, 4)

// Admin runs one statement in the database postgres, directly. It works in cleanups too.
func Admin(t *testing.T, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), AskLimit)
	defer cancel()
	conn, err := adminConn(ctx)
	if err != nil {
		t.Fatalf("connecting for %q: %v", sql, err)
	}
	if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
		t.Errorf("%s: %v", sql, err)
	}
	if _, err := conn.Exec(ctx, "discard all").ReadAll(); err == nil {
		select {
		case idleAdmins <- conn:
			return
		default:
		}
	}
	Close(conn)
}

// adminConn gives an idle connection that still works, or a new one.
func adminConn(ctx context.Context) (*pgconn.PgConn, error) {
	select {
	case conn := <-idleAdmins:
		if conn.Ping(ctx) == nil {
			return conn, nil
		}
		Close(conn)
	default:
	}
	return pgconn.Connect(ctx, Direct().DSN("postgres"))
}

// NewRole makes a role that may log in and nothing else, and drops it when the test ends.
func NewRole(t *testing.T) string {
	t.Helper()
	role := fmt.Sprintf("role_%d", databaseCount.Add(1))
	Admin(t, "create role "+role+" login")
	t.Cleanup(func() { Admin(t, "drop role "+role) })
	return role
}
