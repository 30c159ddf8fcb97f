package quota

import (
	"errors"
	"testing"
)

// One role has its part only; when all places are taken, the role with most makes room, of those that it
// does not use the one used last, and never for a role that then has as many.
func TestPlaces(t *testing.T) {
	t.Parallel()
	p := New[string](6, 4)
	ended := map[string]bool{}
	take := func(role, name string) (*Place[string], error) {
		return p.Take(role, func() { ended[name] = true })
	}
	must := func(role, name string) *Place[string] {
		t.Helper()
		one, err := take(role, name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return one
	}
	a1, a2 := must("a", "a1"), must("a", "a2")
	must("a", "a3")
	a4 := must("a", "a4")
	if _, err := take("a", "a5"); !errors.Is(err, ErrOwn) {
		t.Errorf("a fifth of one role: %v", err)
	}
	must("b", "b1")
	must("b", "b2")
	a1.Use(true)
	a2.Use(false)
	must("c", "c1") // a3 was not used for longest
	if len(ended) != 1 || !ended["a3"] {
		t.Errorf("ended: %v", ended)
	}
	must("c", "c2") // a has three, and c would have two
	if len(ended) != 2 || !ended["a4"] {
		t.Errorf("ended: %v", ended)
	}
	a4.Leave() // which it has no more
	for _, role := range []string{"a", "b", "c"} {
		if _, err := take(role, "none"); !errors.Is(err, ErrFull) {
			t.Errorf("%s, of which all have two: %v", role, err)
		}
	}
	must("d", "d1")
	if len(ended) != 3 || ended["a1"] || ended["none"] { // the busy one stays
		t.Errorf("ended: %v", ended)
	}
	a1.Leave()
	must("d", "d2")
	if n := len(p.taken); n > 6 {
		t.Errorf("%d places are taken", n)
	}
}
