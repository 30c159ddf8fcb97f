package startup

import "testing"

// TestHeld: there is room for least at all times, else for as many as it is told, and never for more than most.
func TestHeld(t *testing.T) {
	h := Held{least: 2, most: 3, all: make(map[*Client]struct{})}
	enter := func(room int) (*Client, bool) {
		c := new(Client)
		return c, h.Enter(c, room)
	}
	first, ok := enter(0)
	if _, also := enter(-5); !ok || !also {
		t.Error("there is no room for the least")
	}
	if c, ok := enter(2); ok || h.Len() != 2 {
		t.Errorf("a third one is in: %t, %d", ok, h.Len())
	} else {
		h.Leave(c) // is not there
	}
	if _, ok := enter(3); !ok {
		t.Error("there is no room for a third one")
	}
	if _, ok := enter(4); ok {
		t.Error("there is room for more than the most")
	}
	h.Leave(first)
	if h.Len() != 2 {
		t.Errorf("%d are left", h.Len())
	}
}
