package housekeeping

import (
	"fmt"
	"testing"
	"time"

	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/schema"
)

// sharing makes another queue whose consumer has the same shared hint.
func (q *queue) sharing(t *testing.T, name string) *queue {
	t.Helper()
	other := *q
	last := enginetest.One[int](t, q.conn, "select max(id) from mbus4.consumer")
	enginetest.Exec(t, q.conn, "select setval('mbus4.consumer_id_seq', $1)", last-last%schema.HintSlots+schema.HintSlots+q.consumer%schema.HintSlots-1)
	other.consumer = enginetest.One[int](t, q.conn, enginetest.NewConsumer, name)
	if other.consumer%schema.HintSlots != q.consumer%schema.HintSlots {
		t.Fatalf("consumers %d and %d", q.consumer, other.consumer)
	}
	return &other
}

// lookBelow has the hinter do what it does every ten seconds.
func (q *queue) lookBelow(t *testing.T) {
	t.Helper()
	for range 2 { // the second turn reads what the first has given out
		q.hinter.low = time.Time{}
		q.tick(t)
	}
	q.hinter.low = time.Now().Add(time.Hour)
}

// A consumer that does not consume holds back nobody else's hint for long.
func TestOwnHints(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	role := enginetest.NewRole(t, q.database)
	enginetest.Exec(t, q.conn, "grant usage on schema mbus4 to "+role+"; grant select on sequence mbus4.hint_0 to "+role)
	q.post(t, q.conn, "lagging")
	other := q.sharing(t, "other")
	temporary := q.sharing(t, "temp.x")
	enginetest.Exec(t, q.conn, "update mbus4.queue set kind = 'temp', owner = 1 where qname = 'temp.x'")
	other.busy(t, "a")
	held := other.hint(t)
	if other.busy(t, "b"); other.hint(t) != held {
		t.Fatal("the hint that both have rises")
	}
	q.lookBelow(t)
	if q.number(t, q.conn) != schema.HintSlots || other.number(t, q.conn) != schema.HintSlots+1 || temporary.number(t, q.conn) != q.consumer%schema.HintSlots {
		t.Fatalf("hints %d, %d, %d", q.number(t, q.conn), other.number(t, q.conn), temporary.number(t, q.conn))
	}
	before, lagging := other.hint(t), q.hint(t)
	other.busy(t, "c")
	if other.hint(t) <= before {
		t.Error("the other's hint does not rise")
	}
	if now := q.hint(t); now > lagging+time.Second.Microseconds() {
		t.Errorf("the hint rose from %d to %d", lagging, now)
	}
	if got := q.consume(t, q.conn); got != "lagging" {
		t.Errorf("consumed %q: the message is hidden", got)
	}
	for number := range 2 {
		sequence := fmt.Sprintf("mbus4.hint_%d", schema.HintSlots+number)
		if !enginetest.One[bool](t, q.conn, "select has_sequence_privilege($1, $2, 'select') and not has_sequence_privilege($1, $2, 'update')", role, sequence) {
			t.Errorf("rights on %s", sequence)
		}
	}

	// What one leaves another gets, and what it has already is found.
	far := other.hint(t)
	enginetest.Exec(t, q.conn, "delete from mbus4.consumer where id = $1", other.consumer)
	next := q.sharing(t, "next")
	next.post(t, q.conn, "early")
	enginetest.Exec(t, q.conn, "update mbus4.message set available_at = to_timestamp($1 / 1000000.0) where iid = 'early'", far-time.Millisecond.Microseconds())
	next.lookBelow(t)
	if next.number(t, q.conn) != schema.HintSlots+1 {
		t.Errorf("hint %d, want the one that is free", next.number(t, q.conn))
	}
	next.busyWith(t, "early")
}

// busyWith is busy, and finds a message.
func (q *queue) busyWith(t *testing.T, iid string) {
	t.Helper()
	for range 3 {
		q.tick(t)
	}
	if got := q.consume(t, q.conn); got != iid {
		t.Errorf("consumed %q: %q is hidden", got, iid)
	}
}

// There is a bound; beyond it consumers share.
func TestOwnHintsHaveABound(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	other, third := q.sharing(t, "other"), q.sharing(t, "third")
	enginetest.Exec(t, q.conn, fmt.Sprintf("create sequence mbus4.hint_%d as bigint minvalue 0 start 0", maxHints-1))
	q.lookBelow(t)
	if got := fmt.Sprint(q.number(t, q.conn), other.number(t, q.conn), third.number(t, q.conn)); got != fmt.Sprint(maxHints-1, q.consumer%schema.HintSlots, q.consumer%schema.HintSlots) {
		t.Errorf("hints %s", got)
	}
	for _, q := range []*queue{q, other, third} {
		q.post(t, q.conn, "m")
		q.busyWith(t, "m")
	}
	// One that names a hint which is not there, as after restoring a part of a dump, shares again.
	enginetest.Exec(t, q.conn, "update mbus4.consumer set hint = 777 where id = $1", other.consumer)
	q.lookBelow(t)
	if other.number(t, q.conn) != q.consumer%schema.HintSlots {
		t.Errorf("hint %d", other.number(t, q.conn))
	}
}
