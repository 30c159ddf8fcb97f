package statespace

import (
	"strings"
	"testing"
)

// ring counts to n and back to 0; at is where somebody may leave it, to n+1 and on to n+2.
func ring(n, at int, inner bool) func(int) []Step[int] {
	return func(s int) []Step[int] {
		switch s {
		case n + 2:
			return nil
		case n + 1:
			return []Step[int]{{Label: Label{Text: "on"}, To: n + 2, Inner: inner}}
		case at:
			return []Step[int]{{Label: Label{Text: "next"}, To: (s + 1) % n, Inner: true}, {Label: Label{Text: "leave"}, To: n + 1}}
		}
		return []Step[int]{{Label: Label{Text: "next"}, To: (s + 1) % n, Inner: true}}
	}
}

func TestExplore(t *testing.T) {
	t.Parallel()
	s := Explore(0, 100, ring(4, 2, true))
	if states, steps := s.Size(); states != 6 || steps != 6 {
		t.Errorf("%d states, %d steps", states, steps)
	}
	if c := s.Always(func(n int) string {
		if n == 6 {
			return "six"
		}
		return ""
	}); c == nil || c.String() != "six, after\n  next\n  next\n  leave\n  on" {
		t.Errorf("%v", c)
	}
	if c := s.Rests(); c == nil || strings.Count(c.String(), "next") != 4 {
		t.Errorf("%v", c)
	}
	owed := func(n int) bool { return n == 5 }
	if c := s.Comes("it", owed); c != nil {
		t.Error(c)
	}
	if c := Explore(0, 100, ring(4, 2, false)).Comes("it", owed); c == nil || len(c.Steps) != 3 {
		t.Errorf("%v", c)
	}
	wrong := Explore(0, 100, func(s int) []Step[int] {
		step := Step[int]{Label: Label{Text: "more"}, To: s + 1}
		if s == 3 {
			step.Wrong = "too many"
		}
		return []Step[int]{step}
	}).Wrong()
	if wrong == nil || wrong.What != "too many" || len(wrong.Steps) != 4 {
		t.Errorf("%v", wrong)
	}
	defer func() {
		if recover() == nil {
			t.Error("states without end")
		}
	}()
	Explore(0, 10, func(s int) []Step[int] { return []Step[int]{{To: s + 1}} })
}
