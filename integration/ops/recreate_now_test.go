package ops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// A database that was dropped and made again is served from the first call on: when the services of
// the old one still ran, when they had nothing to do and no connection, and when it was opened a
// moment ago.
func TestRecreatedDatabaseAtOnce(t *testing.T) {
	t.Parallel()
	for _, semaphores := range []bool{false, true} {
		t.Run(fmt.Sprint("semaphores ", semaphores), func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t, "q")
			server := harness.Connect(t, harness.Direct(), "postgres")
			for i := range 6 {
				conn := harness.Connect(t, harness.Proxied(), database)
				harness.Ask(t, conn, "select mbus4.create_queue('old', 1); select mbus4.create_consumer('old', 'c', 't.iid <> ''x'''); select mbus4.post('old', 'a=>1')")
				if semaphores {
					harness.Ask(t, conn, "select mbus4.semaphore_get_or_create('s')")
				}
				drop := "drop database " + database + " with (force)"
				if i%3 == 2 {
					harness.Close(conn)
					drop = "drop database " + database
					harness.Await(t, server, "select not exists (select from pg_stat_activity where datname = $1)", database)
				}
				harness.Admin(t, drop)
				harness.Admin(t, "create database "+database)
				conn = harness.Connect(t, harness.Proxied(), database)
				harness.Ask(t, conn, "select mbus4.create_queue('q', 1); select mbus4.create_consumer('q', 'c', 't.iid <> ''x''')")
				harness.Want(t, conn, "m|f", "select mbus4.post('q', 'a=>1', iid => 'm'), mbus4.peek_q()")
				harness.Refused(t, conn, "42704", "select mbus4.post('old', 'a=>1')")
				harness.Close(conn)
			}
		})
	}
}

// Applications that connect again as often as it takes see lost sessions while their database is
// dropped and made again, and nothing else.
func TestRecreatedDatabaseUnderLoad(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	ctx, stop := context.WithCancel(harness.Context(t))
	defer stop()
	var apps sync.WaitGroup
	for range 3 {
		apps.Go(func() {
			for ctx.Err() == nil {
				conn, err := pgconn.Connect(ctx, harness.Proxied().DSN(database))
				for err == nil {
					_, err = harness.Query(ctx, conn, "select mbus4.create_queue('q', 1); select mbus4.post('q', 'a=>1'); select iid from mbus4.consume('q')")
				}
				var report *pgconn.PgError
				lost := !errors.As(err, &report) || report.Code == "57P01" || report.Code == "3D000" || report.Code == "08006" || report.Severity == "FATAL"
				if !lost {
					t.Error(harness.Describe(err))
				}
				if conn != nil {
					harness.Close(conn)
				}
			}
		})
	}
	for range 5 {
		harness.Admin(t, "drop database "+database+" with (force)")
		harness.Admin(t, "create database "+database)
		conn := harness.Connect(t, harness.Proxied(), database)
		if got := harness.Ask(t, conn, "select mbus4.create_queue('mine', 1); select mbus4.post('mine', 'a=>1', iid => 'm')"); !strings.HasSuffix(got, "m") {
			t.Errorf("got %q", got)
		}
	}
	stop()
	apps.Wait()
}
