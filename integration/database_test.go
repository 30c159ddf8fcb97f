package integration

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

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
	conn := connect(t, proxied(), name)
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
	conn, err := pgconn.Connect(ctx, direct().dsn("postgres"))
	if err != nil {
		t.Fatalf("connecting for %q: %v", sql, err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
		t.Errorf("%s: %v", sql, err)
	}
}

// newRole makes a role that may log in and nothing else, and drops it when the test ends.
func newRole(t *testing.T) string {
	t.Helper()
	role := fmt.Sprintf("role_%d", databaseCount.Add(1))
	admin(t, "create role "+role+" login")
	t.Cleanup(func() { admin(t, "drop role "+role) })
	return role
}
