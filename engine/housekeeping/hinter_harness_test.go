package housekeeping

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/schema"
)

// rangeSQL is the range a consume looks at, %d the slot of consumer $1's hint. The volatile functions
// stand in subqueries, without which they would not be conditions of the index.
const rangeSQL = `
select ctid from mbus4.message
where consumer_id = $1
  and available_at >= (select timestamptz 'epoch'
      + coalesce(pg_sequence_last_value('mbus4.hint_%d'::regclass), 0) * interval '1 microsecond')
  and available_at <= (select clock_timestamp())
order by available_at, id
limit 1
for update skip locked`

// queue is a queue with one consumer in a database with its hinter.
type queue struct {
	database string
	consumer int
	conn     *pgx.Conn // autocommit
	hinter   *hinter
	hinting  *pgx.Conn // the hinter's
}

// newQueue makes a queue. Its hinter keeps no margin and does not look below the hints: what it hides
// stays hidden.
func newQueue(t *testing.T) *queue {
	t.Helper()
	name := enginetest.Installed(t)
	q := &queue{database: name, conn: enginetest.Connect(t, name)}
	q.consumer = enginetest.One[int](t, q.conn, enginetest.NewConsumer, "q")
	q.newHinter(t, enginetest.DSN(name))
	return q
}

func (q *queue) newHinter(t *testing.T, dsn string) {
	t.Helper()
	q.hinter = &hinter{}
	q.hinting = enginetest.ConnectTo(t, dsn)
	if err := admin.Settle(enginetest.Context(t), q.hinting, admin.ServiceLockWait); err != nil {
		t.Fatal(err)
	}
	enginetest.Eventually(t, "the new hinter leads", func() bool { // the server may not have seen the old one go
		q.tick(t)
		return q.hinter.leads == q.hinting
	})
	q.hinter.low = time.Now().Add(time.Hour)
}

func (q *queue) tick(t *testing.T) {
	t.Helper()
	if err := q.hinter.Tick(enginetest.Context(t), q.hinting); err != nil {
		t.Fatal(err)
	}
}

func (q *queue) post(t *testing.T, conn *pgx.Conn, iid string) {
	t.Helper()
	enginetest.Exec(t, conn, enginetest.PostSQL, q.consumer, "", iid, "")
}

// number is that of the consumer's hint.
func (q *queue) number(t *testing.T, conn *pgx.Conn) int {
	t.Helper()
	return enginetest.One[int](t, conn, "select coalesce(hint, id % $2) from mbus4.consumer where id = $1", q.consumer, schema.HintSlots)
}

// consume gives the iid of the next message, "" for none.
func (q *queue) consume(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	var iid string
	err := conn.QueryRow(enginetest.Context(t), fmt.Sprintf(`delete from mbus4.message where ctid = (`+rangeSQL+`) returning iid`, q.number(t, conn)), q.consumer).Scan(&iid)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		t.Fatal(err)
	}
	return iid
}

func (q *queue) hint(t *testing.T) int64 {
	t.Helper()
	return enginetest.One[int64](t, q.conn, fmt.Sprintf(
		"select coalesce(pg_sequence_last_value('mbus4.hint_%d'::regclass), 0)", q.number(t, q.conn)))
}

// busy posts and consumes, with the hinter at work, until the hint would have risen far beyond the
// beginning if it could.
func (q *queue) busy(t *testing.T, round string) {
	t.Helper()
	for i := range 5 {
		iid := fmt.Sprint(round, i)
		q.post(t, q.conn, iid)
		if got := q.consume(t, q.conn); got != iid {
			t.Fatalf("consumed %q, want %q", got, iid)
		}
		q.tick(t)
	}
}

// buffers is how many pages one look at the range touches.
func (q *queue) buffers(t *testing.T) int {
	t.Helper()
	return enginetest.Pages(t, q.conn, fmt.Sprintf(rangeSQL, q.number(t, q.conn)), q.consumer)
}
