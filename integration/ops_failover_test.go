package integration

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/pgcluster"
)

// failoverLimit bounds how long a new session may fail after the standby was promoted.
const failoverLimit = 20 * time.Second

// With target_session_attrs a session goes to a server that fits, and after a failover to the new
// primary; the engine follows. What was in progress ends with 57P01.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary := temporaryCluster(t)
	standby := standbyOf(t, primary)

	// The standby comes first in all DSNs.
	dsn := func(attrs string) string {
		return fmt.Sprintf("host=%s,%s port=%d,%d user=postgres dbname=postgres sslmode=disable target_session_attrs=%s",
			standby.Host(), primary.Host(), standby.Port(), primary.Port(), attrs)
	}
	through := map[string]endpoint{}
	for _, attrs := range []string{"read-write", "standby", "prefer-standby"} {
		p := newProxy(t, "--upstream", dsn(attrs), "--admin", dsn("read-write"))
		through[attrs] = p.endpoint
	}
	main := through["read-write"]
	replica := endpoint{"standby", standby.Host(), standby.Port()}

	onStandby := func(e endpoint, expected string) {
		t.Helper()
		want(t, connect(t, e, "postgres"), expected, "select pg_is_in_recovery()")
	}
	onStandby(main, "f")
	onStandby(through["standby"], "t")
	onStandby(through["prefer-standby"], "t")

	idle, busy := connect(t, main, "postgres"), connect(t, main, "postgres")
	ask(t, idle, "select mbus4.create_queue('q', 1)")
	want(t, idle, "before", "select mbus4.post('q', 'a=>1', iid => 'before')")
	want(t, busy, "lost", "begin; select mbus4.post('q', 'a=>1', iid => 'lost')")
	lsn := ask(t, idle, "select pg_current_wal_flush_lsn()")
	follower := connect(t, replica, "postgres")
	await(t, follower, failoverLimit, "select pg_last_wal_replay_lsn() >= $1::pg_lsn", lsn)

	if err := syscall.Kill(primary.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for name, conn := range map[string]*pgconn.PgConn{"idle": idle, "busy": busy} {
		ctx := testContext(t)
		_, err := query(ctx, conn, "select 1")
		for err == nil { // its backend has not noticed yet
			_, err = query(ctx, conn, "select 1")
		}
		if code := sqlState(err); code != "57P01" {
			t.Errorf("the %s session ended with %s", name, describe(err))
		}
	}
	if _, err := pgconn.Connect(testContext(t), main.dsn("postgres")); sqlState(err) != "08001" {
		t.Errorf("no primary there: %v", err)
	}

	want(t, follower, "t", "select pg_promote()")
	started := time.Now()
	fresh := connectWithin(t, main, "postgres", failoverLimit)
	t.Logf("the new primary is reached after %v", time.Since(started).Round(time.Millisecond))
	want(t, fresh, "f", "select pg_is_in_recovery()")
	want(t, fresh, "before", "select iid from mbus4.consumen('q', amt => 9)")
	want(t, fresh, "after", "select mbus4.post('q', 'a=>1', iid => 'after')")
	// The engine makes the schema of a database it has not seen.
	ask(t, fresh, "create database later")
	later := connect(t, main, "later")
	ask(t, later, "select mbus4.create_queue('q', 1)")
	want(t, later, "m", "select mbus4.post('q', 'a=>1', iid => 'm')")
	// And keeps house in one it has.
	ask(t, fresh, "select mbus4.post('q', 'a=>1', iid => 'brief', expires => now() + interval '10 ms')")
	await(t, fresh, 60*time.Second, "select not exists (select from mbus4.message where iid = $1)", "brief")

	connectWithin(t, through["prefer-standby"], "postgres", failoverLimit)
	onStandby(through["prefer-standby"], "f")
	if _, err := pgconn.Connect(testContext(t), through["standby"].dsn("postgres")); sqlState(err) != "08001" {
		t.Errorf("no standby there: %v", err)
	}
}

// connectWithin connects again and again until it succeeds.
func connectWithin(t *testing.T, e endpoint, database string, limit time.Duration) *pgconn.PgConn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for {
		conn, err := pgconn.Connect(ctx, e.dsn(database))
		if err == nil {
			t.Cleanup(func() { closeConn(conn.Close) })
			return conn
		}
		select {
		case <-ctx.Done():
			t.Fatalf("no session within %v: %v", limit, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// temporaryCluster starts a cluster of the test's own, ready for replication.
func temporaryCluster(t *testing.T) *pgcluster.Cluster {
	t.Helper()
	c, err := pgcluster.Temp(pgcluster.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopCluster(c) })
	return c
}
