package waiting

import (
	"slices"
	"testing"
	"time"
)

// Calls that wait are counted by consumer, whatever else they want; those for one message together.
func TestCalls(t *testing.T) {
	t.Parallel()
	l := NewLines(func() {})
	began := time.Now()
	first := l.Join(key)
	for _, k := range []Key{key, {Queue: "q", Consumer: "c", Selective: true}, {Queue: "a", Consumer: "c"}, {Message: "one"}, {Message: "two"}} {
		startWaiting(t, l, l.Join(k))
	}
	if got := l.Calls(); len(got) != 3 {
		t.Errorf("%v", got)
	}
	between := time.Now()
	startWaiting(t, l, first) // it has been there for longer, with a look
	got := l.Calls()
	if got[0].Since.After(between) || got[0].Since.Before(began) {
		t.Errorf("%v is not between %v and %v", got[0].Since, began, between)
	}
	for i := range got {
		got[i].Since = time.Time{}
	}
	if want := []Calls{{Queue: "q", Consumer: "c", Waiting: 3}, {Waiting: 2}, {Queue: "a", Consumer: "c", Waiting: 1}}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
