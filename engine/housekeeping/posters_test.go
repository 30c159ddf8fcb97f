package housekeeping

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/enginetest"
)

// besides makes another queue in q's database, of the same class or of another one.
func (q *queue) besides(t *testing.T, same bool) *queue {
	t.Helper()
	other := *q
	name := enginetest.One[string](t, q.conn, `select 'q' || n from generate_series(1, 10000) n
		where (hashtext('q' || n) & ($2 - 1) = hashtext('q') & ($2 - 1)) = $1 limit 1`, same, queueClasses)
	other.consumer = enginetest.One[int](t, q.conn, enginetest.NewConsumer, name)
	q.hinter.low = q.hinter.low.AddDate(-1, 0, 0) // the new consumer is found by the look below
	q.tick(t)
	q.hinter.low = q.hinter.low.AddDate(1, 0, 0)
	return &other
}

// A transaction that stays open holds back what it may have posted to, and nothing else.
func TestOpenPosterHoldsBackItsQueues(t *testing.T) {
	t.Parallel()
	late := func(t *testing.T, to *queue, poster *pgx.Conn) { to.post(t, poster, "late") }
	for name, c := range map[string]struct {
		post   func(t *testing.T, to *queue, poster *pgx.Conn)
		same   bool // the other queue shares its class
		others bool // are held back
		more   func(t *testing.T, to *queue, poster *pgx.Conn)
		commit string
	}{
		"posts":                              {post: late},
		"posts to a queue of the same class": {post: late, same: true, others: true},
		"posts without the lock of a class": {post: func(t *testing.T, to *queue, poster *pgx.Conn) {
			t.Helper()
			enginetest.Exec(t, poster, `insert into mbus4.message (id, consumer_id, available_at, added, iid)
				select nextval('mbus4.message_id'), $1, clock_timestamp(), now(), 'late'`, to.consumer)
		}, others: true},
		"draws ids only": {post: func(t *testing.T, to *queue, poster *pgx.Conn) {
			t.Helper()
			enginetest.Exec(t, poster, "select nextval('mbus4.post_id')")
			to.post(t, poster, "late")
		}},
		"makes a consumer": {post: func(t *testing.T, to *queue, poster *pgx.Conn) {
			t.Helper()
			enginetest.Exec(t, poster, enginetest.NewConsumer, "young")
			to.post(t, poster, "late")
		}, others: true},
		"is prepared": {post: late, more: func(t *testing.T, _ *queue, poster *pgx.Conn) {
			t.Helper()
			enginetest.Exec(t, poster, "prepare transaction 'open'")
		}, commit: "commit prepared 'open'"},
		"another hinter takes over": {post: late, more: func(t *testing.T, to *queue, _ *pgx.Conn) {
			t.Helper()
			admin.Close(context.Background(), to.hinting)
			to.newHinter(t, enginetest.DSN(to.database))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newQueue(t)
			other := q.besides(t, c.same)
			poster := enginetest.Connect(t, q.database)
			enginetest.Exec(t, poster, "begin")
			c.post(t, q, poster)
			if c.more != nil {
				c.more(t, q, poster)
				other.hinter, other.hinting = q.hinter, q.hinting
			}
			other.busy(t, "a")
			held, before := q.hint(t), other.hint(t)
			other.busy(t, "b")
			if rose := other.hint(t) > before; rose == c.others {
				t.Errorf("the other queue's hint rises: %t", rose)
			}
			if q.hint(t) != held {
				t.Error("the queue's hint rises")
			}
			if c.commit == "" {
				c.commit = "commit"
			}
			enginetest.Exec(t, poster, c.commit)
			other.busy(t, "c")
			if got := q.consume(t, q.conn); got != "late" {
				t.Errorf("consumed %q: the message is hidden", got)
			}
			q.busy(t, "d")
			if q.hint(t) <= held {
				t.Error("the hint does not rise any more")
			}
		})
	}
}

// What a transaction makes and posts to is found after its commit, though nobody saw the consumer before.
func TestHintOfNewConsumer(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	poster := enginetest.Connect(t, q.database)
	enginetest.Exec(t, poster, "begin")
	// Its hint is one that is raised for others.
	enginetest.Exec(t, poster, fmt.Sprintf("select setval('mbus4.consumer_id_seq', %d)", q.consumer+1280-1))
	young := *q
	young.consumer = enginetest.One[int](t, poster, enginetest.NewConsumer, "young")
	if young.consumer%128 != q.consumer%128 {
		t.Fatalf("consumer %d, the other is %d", young.consumer, q.consumer)
	}
	young.post(t, poster, "late")
	q.busy(t, "a")
	enginetest.Exec(t, poster, "commit")
	q.busy(t, "b")
	if got := young.consume(t, q.conn); got != "late" {
		t.Errorf("consumed %q: the message is hidden", got)
	}
}
