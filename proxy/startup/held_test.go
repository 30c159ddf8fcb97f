package startup

import (
	"context"
	"errors"
	"testing"
)

// TestHeld: the number of those that are held is bounded, and who has most of them makes room.
func TestHeld(t *testing.T) {
	h := Held{least: 3}
	ended := func(c gateClient) bool { return errors.Is(context.Cause(c.ctx), ErrCrowded) }
	honest, first, second := newGateClient(t, "10.0.0.1"), newGateClient(t, "10.0.0.2"), newGateClient(t, "10.0.0.2")
	for _, c := range []gateClient{honest, first, second} {
		h.Enter(c.Client, 0) // least is what there is room for at all times
	}
	third := newGateClient(t, "10.0.0.2")
	h.Enter(third.Client, -5)
	if !ended(first) || ended(honest) || ended(second) || ended(third) || h.Len() != 3 {
		t.Errorf("ended: %t, not %t, %t, %t; %d are left", ended(first), ended(honest), ended(second), ended(third), h.Len())
	}
	h.Leave(first.Client) // is not there
	h.Leave(second.Client)
	if h.Len() != 2 {
		t.Errorf("%d are left", h.Len())
	}
	for range 7 {
		h.Enter(newGateClient(t, "10.0.0.3").Client, 8)
	}
	if h.Len() != 8 || ended(honest) || ended(third) {
		t.Errorf("%d with room for 8, %t, %t", h.Len(), ended(honest), ended(third))
	}
}
