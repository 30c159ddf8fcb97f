package ops

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/internal/pgcluster"
)

// A new process takes over from an old one, twice, while clients come and go all the time, over
// TCP and over the unix socket: each gets its session and its transaction, and each message posted
// is there once. A session that waits for work all the time ends with 57P01.
func TestHandover(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "mbh")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	port, err := pgcluster.FreePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	tcp := harness.Endpoint{Name: "shared", Host: "127.0.0.1", Port: port}
	unix := harness.Endpoint{Name: "shared socket", Host: dir, Port: port}
	next := func() *harness.Proxy {
		t.Helper()
		// startProxy adds an address of the proxy's own, to see whether it is ready.
		return harness.NewProxy(t, "--reuse-port", "--listen", fmt.Sprintf("127.0.0.1:%d,%s", port, dir))
	}
	old := next()
	database := harness.NewQueueDatabase(t, "q")
	idle := harness.Connect(t, tcp, database)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var clients sync.WaitGroup
	var sessions, posted atomic.Int64
	for i := range 8 {
		e := []harness.Endpoint{tcp, tcp, tcp, unix}[i%4]
		clients.Go(func() {
			for ctx.Err() == nil {
				if err := shortSession(t, e, database, &posted); err != nil {
					t.Errorf("session %d, %s: %s", sessions.Load(), e.Name, harness.Describe(err))
					return
				}
				sessions.Add(1)
			}
		})
	}
	least := int64(60)
	if harness.Long() {
		least = 200
	}
	enough := func() {
		t.Helper()
		from := sessions.Load()
		harness.Eventually(t, func() string {
			if n := sessions.Load() - from; n < least {
				return fmt.Sprintf("clients make no progress: %d sessions of %d", n, least)
			}
			return ""
		})
	}
	for range 2 {
		enough()
		successor := next()
		enough()
		if err := old.Stop(); err != nil {
			t.Error(err)
		}
		old = successor
		enough()
	}
	cancel()
	clients.Wait()
	t.Logf("%d sessions, %d messages", sessions.Load(), posted.Load())
	if err := idle.WaitForNotification(harness.Context(t)); harness.SQLState(err) != "57P01" {
		t.Errorf("the idle session: %s", harness.Describe(err))
	}
	harness.Want(t, harness.Connect(t, tcp, database), fmt.Sprint(posted.Load()), "select count(*) from mbus4.message")
	if err := old.Stop(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err) // but for the lock file
	}
}

// shortSession connects, posts in one transaction of several statements, and leaves.
func shortSession(t *testing.T, e harness.Endpoint, database string, posted *atomic.Int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), harness.AskLimit)
	defer cancel()
	conn, err := pgconn.Connect(ctx, e.DSN(database))
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, sql := range []string{"begin", "select mbus4.post('q', 'a=>1')", "select pg_sleep(0.005)", "commit"} {
		if _, err := harness.Query(ctx, conn, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	posted.Add(1)
	return nil
}
