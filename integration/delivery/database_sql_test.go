package delivery

import (
	"database/sql"
	"fmt"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"

	"mbusproxy/integration/internal/harness"
)

// database/sql with a pool: sixteen goroutines share it, each transaction moves one message from
// one queue to another and leaves a trace in a table; every third one thinks better of it.
func TestDatabaseSQL(t *testing.T) {
	t.Parallel()
	const messages = 160
	database := harness.NewQueueDatabase(t, "a", "b")
	db, err := sql.Open("pgx", harness.Proxied().DSN(database))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(8)
	ctx := harness.Context(t)
	if _, err := db.ExecContext(ctx, "create table moved (iid text primary key)"); err != nil {
		t.Fatal(err)
	}
	for i := range messages {
		var iid string
		if err := db.QueryRowContext(ctx, "select mbus4.post($1, hstore('n', $2))", "a", fmt.Sprint(i)).Scan(&iid); err != nil {
			t.Fatal(harness.Describe(err))
		}
	}
	move := func(commit bool) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // after Commit it does nothing
		var iid string
		err = tx.QueryRowContext(ctx, "select mbus4.post($1, m.data, iid => m.iid) from mbus4.consume($2) m", "b", "a").Scan(&iid)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "insert into moved values ($1)", iid); err != nil {
			return err
		}
		if commit {
			return tx.Commit()
		}
		return nil
	}
	var workers sync.WaitGroup
	for w := range 16 {
		workers.Go(func() {
			for done, try := 0, 0; done < messages/16; try++ {
				commit := (w+try)%3 != 0
				if err := move(commit); err != nil {
					t.Errorf("worker %d: %s", w, harness.Describe(err))
					return
				}
				if commit {
					done++
				}
			}
		})
	}
	workers.Wait()
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Want(t, conn, "160|160", "select count(*), count(distinct data->'n') from mbus4.consumen('b', amt => 1000)")
	harness.Want(t, conn, "160|f", "select count(*), mbus4.peek_a() from moved")
}
