package memory

import (
	"testing"
	"time"
)

// TestRolesHaveTheirShares: a role has at most half of what others leave, whatever its sessions hold, and what is
// old is taken from a role that has no less.
func TestRolesHaveTheirShares(t *testing.T) {
	const step = LongMessageStep
	all := NewLongMessages(64 * step)
	now := time.Now()
	all.SetClock(func() time.Time { return now })
	woken := map[string]int{}
	var sessions []*LongMessage
	grow := func(role string, n int) bool {
		s := all.Share(role, func() { woken[role]++ })
		if !s.Grow(n) {
			return false
		}
		sessions = append(sessions, &s)
		return true
	}
	fill := func(role string) (n int) {
		for grow(role, step) {
			n++
		}
		return n
	}
	for _, want := range []struct {
		role string
		n    int
	}{{"a", 32}, {"b", 16}, {"c", 8}, {"d", 4}, {"a", 0}} {
		if got := fill(want.role); got != want.n {
			t.Errorf("%s gets %d steps, want %d", want.role, got, want.n)
		}
	}
	if all.Unused() != 4*step || len(woken) > 0 {
		t.Errorf("%d bytes are left, woken: %v", all.Unused(), woken)
	}
	now = now.Add(LongMessageStale)
	for range 3 {
		grow("b", step)
	}
	if woken["a"]+woken["b"] != 3 || len(woken) > 2 {
		t.Errorf("woken for b: %v", woken)
	}
	for _, s := range sessions {
		s.Release()
	}
	if all.Unused() != 64*step || len(all.roles)+len(all.holders) > 0 {
		t.Errorf("not all came back: %+v", all)
	}
	if grow("a", 32*step+1) || !grow("a", 32*step) {
		t.Error("the share of one message is not half of all")
	}
}
