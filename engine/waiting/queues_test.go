package waiting

import (
	"fmt"
	"testing"
)

// Of a thousand queues a set of one holds few others, and all sets hold what they were made of.
func TestQueuesHold(t *testing.T) {
	t.Parallel()
	const n = 1000
	var all Queues
	names := make([]Queues, n)
	for i := range names {
		names[i] = QueuesOf(fmt.Sprintf("orders_%d", i))
		all |= names[i]
	}
	alike := 0
	for i, q := range names {
		if !AnyQueue.has(q) || !all.has(q) || q == 0 {
			t.Errorf("queue %d is %x", i, uint64(q))
		}
		for j, other := range names {
			if i != j && q.has(other) {
				alike++
			}
		}
	}
	if alike > n {
		t.Errorf("%d pairs of %d queues look alike", alike, n)
	}
}

// A set comes back from its payload; what is no payload of ours stands for all queues.
func TestQueuesPayload(t *testing.T) {
	t.Parallel()
	for _, q := range []Queues{QueuesOf("a"), QueuesOf("a") | QueuesOf("b"), AnyQueue, 1} {
		if got := queuesOfPayload(q.payload()); got != q {
			t.Errorf("%x comes back as %x", uint64(q), uint64(got))
		}
	}
	for _, hostile := range []string{"", "0", "-1", "zz", "1_0", "0x1", "fffffffffffffffffffff", "ffffffffffffffff", " 1", "1\x00"} {
		if got := queuesOfPayload(hostile); got != AnyQueue {
			t.Errorf("%q is read as %x", hostile, uint64(got))
		}
	}
}

// What is posted to one queue wakes nobody who waits for another, and has nobody look there; who
// waits for a message that may be anywhere is looked for.
func TestPostToOneQueueTouchesNoOther(t *testing.T) {
	t.Parallel()
	l := NewLines(func() {})
	one := waiters(l, Key{Queue: "one", Consumer: "c"}, 2)
	other := waiters(l, Key{Queue: "other", Consumer: "c"}, 1)
	for _, a := range l.ask(true) {
		l.tell(a.key, found{})
	}
	l.Signal(QueuesOf("nobody"), true)
	if asked := l.ask(false); pending(l) || len(asked) != 0 {
		t.Errorf("a post to a queue for which nobody waits: asked %v", asked)
	}
	l.Signal(QueuesOf("one"), true)
	if !one[0].woken || one[1].woken || other[0].woken {
		t.Error("not the first of the queue is woken, or not he alone")
	}
	if asked := l.ask(false); len(asked) != 1 || asked[0].key.Queue != "one" {
		t.Errorf("asked %v", asked)
	}
	anywhere := waiters(l, Key{Message: "one.db.1"}, 1)
	for _, a := range l.ask(true) {
		l.tell(a.key, found{})
	}
	l.Signal(QueuesOf("other"), false)
	l.Signal(QueuesOf("nobody"), false)
	if asked := l.ask(false); len(asked) != 2 || other[0].woken || anywhere[0].woken {
		t.Errorf("asked %v", asked)
	}
}
