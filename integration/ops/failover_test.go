package ops

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/pgcluster"

	"mbusproxy/integration/internal/harness"
)

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
	through := map[string]harness.Endpoint{}
	for _, attrs := range []string{"read-write", "standby", "prefer-standby"} {
		p := harness.NewProxy(t, "--upstream", dsn(attrs), "--admin", dsn("read-write"))
		through[attrs] = p.Endpoint
	}
	main := through["read-write"]
	replica := harness.Endpoint{Name: "standby", Host: standby.Host(), Port: standby.Port()}

	onStandby := func(e harness.Endpoint, expected string) {
		t.Helper()
		harness.Want(t, harness.Connect(t, e, "postgres"), expected, "select pg_is_in_recovery()")
	}
	onStandby(main, "f")
	onStandby(through["standby"], "t")
	onStandby(through["prefer-standby"], "t")

	idle, busy := harness.Connect(t, main, "postgres"), harness.Connect(t, main, "postgres")
	harness.Ask(t, idle, "select mbus4.create_queue('q', 1)")
	harness.Want(t, idle, "before", "select mbus4.post('q', 'a=>1', iid => 'before')")
	harness.Want(t, busy, "lost", "begin; select mbus4.post('q', 'a=>1', iid => 'lost')")
	lsn := harness.Ask(t, idle, "select pg_current_wal_flush_lsn()")
	follower := harness.Connect(t, replica, "postgres")
	harness.Await(t, follower, "select pg_last_wal_replay_lsn() >= $1::pg_lsn", lsn)

	if err := syscall.Kill(primary.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for name, conn := range map[string]*pgconn.PgConn{"idle": idle, "busy": busy} {
		ctx := harness.Context(t)
		_, err := harness.Query(ctx, conn, "select 1")
		for err == nil { // its backend has not noticed yet
			_, err = harness.Query(ctx, conn, "select 1")
		}
		if code := harness.SQLState(err); code != "57P01" {
			t.Errorf("the %s session ended with %s", name, harness.Describe(err))
		}
	}
	if _, err := pgconn.Connect(harness.Context(t), main.DSN("postgres")); harness.SQLState(err) != "08001" {
		t.Errorf("no primary there: %v", err)
	}

	harness.Want(t, follower, "t", "select pg_promote()")
	started := time.Now()
	fresh := connectWithin(t, main, "postgres", harness.AskLimit)
	t.Logf("the new primary is reached after %v", time.Since(started).Round(time.Millisecond))
	harness.Want(t, fresh, "f", "select pg_is_in_recovery()")
	harness.Want(t, fresh, "before", "select iid from mbus4.consumen('q', amt => 9)")
	harness.Want(t, fresh, "after", "select mbus4.post('q', 'a=>1', iid => 'after')")
	// The engine makes the schema of a database it has not seen.
	harness.Ask(t, fresh, "create database later")
	later := harness.Connect(t, main, "later")
	harness.Ask(t, later, "select mbus4.create_queue('q', 1)")
	harness.Want(t, later, "m", "select mbus4.post('q', 'a=>1', iid => 'm')")
	// And keeps house in one it has.
	harness.Ask(t, fresh, "select mbus4.post('q', 'a=>1', iid => 'brief', expires => now() + interval '10 ms')")
	harness.Await(t, fresh, "select not exists (select from mbus4.message where iid = $1)", "brief")

	connectWithin(t, through["prefer-standby"], "postgres", harness.AskLimit)
	onStandby(through["prefer-standby"], "f")
	if _, err := pgconn.Connect(harness.Context(t), through["standby"].DSN("postgres")); harness.SQLState(err) != "08001" {
		t.Errorf("no standby there: %v", err)
	}
}

// connectWithin connects again and again until it succeeds.
func connectWithin(t *testing.T, e harness.Endpoint, database string, limit time.Duration) *pgconn.PgConn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for {
		conn, err := pgconn.Connect(ctx, e.DSN(database))
		if err == nil {
			t.Cleanup(func() { harness.Close(conn) })
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
	t.Cleanup(func() { harness.StopCluster(c) })
	return c
}
