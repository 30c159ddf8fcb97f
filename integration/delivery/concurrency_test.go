package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

const (
	concurrentMessages  = 20_000
	concurrentConsumers = 16
	killsPerVictim      = 12
)

// Every message reaches exactly one committed transaction, whatever happens to the consumers.
// A consumer records in an ordinary table, in the transaction in which it consumes, so the
// table is the record of what was delivered.
func TestConcurrentConsumers(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	observer := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, observer, "create table posted (iid text); create table delivered (iid text, consumer int)")
	harness.Ask(t, observer, fmt.Sprintf(`insert into posted
		select mbus4.post('q', hstore('n', n::text)) from generate_series(1, %d) n`, concurrentMessages))

	ctx, cancel := context.WithTimeout(t.Context(), 4*harness.TestLimit/3)
	defer cancel()
	var consumers sync.WaitGroup
	errs := make([]error, concurrentConsumers)
	for i := range concurrentConsumers {
		consumers.Go(func() {
			c := consumer{number: i, database: database, victim: i%4 == 3}
			errs[i] = c.run(ctx)
		})
	}
	consumers.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	harness.Want(t, observer, fmt.Sprintf("%[1]d|%[1]d", concurrentMessages),
		"select count(*), count(distinct iid) from delivered")
	harness.Want(t, observer, "0", "select count(*) from (select iid from posted except select iid from delivered) lost")
	harness.Want(t, observer, "0", "select count(*) from mbus4.consumen('q', 'default', 100)")
}

// consumer empties the queue in one of several styles.
type consumer struct {
	number   int
	database string
	victim   bool // dies in mid-transaction, again and again
	conn     *pgconn.PgConn
}

// run consumes until every message is on record.
func (c *consumer) run(ctx context.Context) error {
	if err := c.connect(ctx); err != nil {
		return err
	}
	defer func() { harness.Close(c.conn) }()
	kills := 0
	for round := 0; ; round++ {
		got, err := c.round(ctx, round)
		if err != nil {
			return fmt.Errorf("consumer %d, round %d: %s: %w", c.number, round, harness.Describe(err), err)
		}
		if c.victim && kills < killsPerVictim && got > 0 {
			kills++
			if err := c.die(ctx); err != nil {
				return err
			}
			continue
		}
		if _, err := harness.Query(ctx, c.conn, "commit"); err != nil {
			return fmt.Errorf("consumer %d committing: %w", c.number, err)
		}
		if got > 0 {
			continue
		}
		done, err := harness.Query(ctx, c.conn, fmt.Sprintf("select count(*) >= %d from delivered", concurrentMessages))
		if err != nil {
			return err
		}
		if done == "t" {
			if c.victim && kills == 0 {
				return fmt.Errorf("consumer %d was never killed with a message in hand", c.number)
			}
			return nil
		}
	}
}

// round opens a transaction, consumes some messages and records them; it returns how many.
func (c *consumer) round(ctx context.Context, round int) (int64, error) {
	if _, err := harness.Query(ctx, c.conn, "begin"); err != nil {
		return 0, err
	}
	record := "insert into delivered select iid, $1 from mbus4.consume('q')"
	args := [][]byte{fmt.Append(nil, c.number)}
	if c.number%8 != 0 { // most take several at a time, or 20,000 messages take too long
		record = "insert into delivered select iid, $1 from mbus4.consumen('q', 'default', $2)"
		args = append(args, fmt.Append(nil, 1+(7*round+c.number)%40))
	}
	if c.conn.CustomData()["record"] == nil {
		if _, err := c.conn.Prepare(ctx, "record", record, nil); err != nil {
			return 0, err
		}
		c.conn.CustomData()["record"] = true
	}
	if c.number%2 == 0 {
		r := c.conn.ExecPrepared(ctx, "record", args, nil, nil).Read()
		return r.CommandTag.RowsAffected(), r.Err
	}
	r := c.conn.ExecParams(ctx, record, args, nil, nil, nil).Read()
	return r.CommandTag.RowsAffected(), r.Err
}

// die resets the connection in mid-transaction; the next round is another session.
func (c *consumer) die(ctx context.Context) error {
	if err := harness.Abort(c.conn); err != nil {
		return err
	}
	return c.connect(ctx)
}

func (c *consumer) connect(ctx context.Context) (err error) {
	c.conn, err = pgconn.Connect(ctx, harness.Proxied().DSN(c.database))
	if err != nil {
		return fmt.Errorf("consumer %d connecting: %w", c.number, err)
	}
	return nil
}
