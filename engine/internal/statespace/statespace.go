package statespace

import (
	"fmt"
	"slices"
	"strings"
)

// Label names a step.
type Label struct {
	Text string // as a format for Of
	Of   [2]int8
}

// String is the label's text.
func (l Label) String() string {
	args := make([]any, 0, len(l.Of))
	for i := range strings.Count(l.Text, "%") {
		args = append(args, l.Of[i])
	}
	return fmt.Sprintf(l.Text, args...)
}

// Step is what may happen in a state.
type Step[S comparable] struct {
	Label
	// Inner is set for a step that the machine makes by itself sooner or later. Others may happen
	// or not: what clients do, what fails, time.
	Inner bool
	// Timed is set for one of these that comes in its own time, again and again: it may always be
	// waited for, and it is no unrest.
	Timed bool
	// Wrong says what is wrong with the step itself; "": nothing.
	Wrong string
	To    S
}

// Space is what has been reached.
type Space[S comparable] struct {
	states []S
	steps  [][]edge // by state
	came   []origin // by state: how it was reached first
	names  []Label  // of steps
	wrong  string   // of the first step that was
	at     int      // where it leads
}

type edge struct {
	to    int32
	name  int32
	inner bool
	timed bool
}

type origin struct{ from, name int32 }

// Explore reaches all states from first, the nearest first, and stops at a step that is wrong. It
// panics where there are more than most.
func Explore[S comparable](first S, most int, next func(S) []Step[S]) *Space[S] {
	s := &Space[S]{states: []S{first}, came: []origin{{-1, -1}}, at: -1}
	numbers, names := map[S]int32{first: 0}, map[Label]int32{}
	for i := 0; i < len(s.states); i++ {
		var out []edge
		for _, step := range next(s.states[i]) {
			name, known := names[step.Label]
			if !known {
				name = int32(len(s.names))
				names[step.Label] = name
				s.names = append(s.names, step.Label)
			}
			to, known := numbers[step.To]
			if !known {
				if to = int32(len(s.states)); int(to) >= most {
					panic(fmt.Sprintf("more than %d states", most))
				}
				numbers[step.To] = to
				s.states = append(s.states, step.To)
				s.came = append(s.came, origin{int32(i), name})
			}
			if step.Wrong != "" {
				s.came = append(s.came, origin{int32(i), name})
				s.wrong, s.at = step.Wrong, len(s.came)-1
				return s
			}
			if int(to) != i {
				out = append(out, edge{to, name, step.Inner, step.Timed})
			}
		}
		s.steps = append(s.steps, out)
	}
	return s
}

// Counterexample is how something is reached that must not be.
type Counterexample struct {
	What  string
	Steps []string // from the first state
}

// String has a step on each line.
func (c *Counterexample) String() string {
	return c.What + ", after\n  " + strings.Join(c.Steps, "\n  ")
}

// Size is the number of states and of steps between them.
func (s *Space[S]) Size() (states, steps int) {
	for _, out := range s.steps {
		steps += len(out)
	}
	return len(s.states), steps
}

// Wrong is the first step that was wrong; nil: none was.
func (s *Space[S]) Wrong() *Counterexample {
	if s.wrong == "" {
		return nil
	}
	return s.trace(s.wrong, s.at)
}

// Always finds the nearest state of which bad says something.
func (s *Space[S]) Always(bad func(S) string) *Counterexample {
	for i, state := range s.states {
		if what := bad(state); what != "" {
			return s.trace(what, i)
		}
	}
	return nil
}

// Comes finds the nearest state in which something is owed and from which no inner steps lead to
// one where it is not. Where there is none, it comes in every run that makes again and again each
// inner step that it can make again and again.
func (s *Space[S]) Comes(what string, owed func(S) bool) *Counterexample {
	from := make([][]int32, len(s.states)) // from where inner steps lead
	for i, out := range s.steps {
		for _, e := range out {
			if e.inner {
				from[e.to] = append(from[e.to], int32(i))
			}
		}
	}
	comes := make([]bool, len(s.states))
	var todo []int32
	for i, state := range s.states {
		if !owed(state) {
			comes[i] = true
			todo = append(todo, int32(i))
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, j := range from[i] {
			if !comes[j] {
				comes[j] = true
				todo = append(todo, j)
			}
		}
	}
	for i := range s.states {
		if !comes[i] {
			return s.trace(what+" does not come", i)
		}
	}
	return nil
}

// Rests finds a state to which inner steps that are not timed lead back: the machine has nothing to
// do, and does not rest.
func (s *Space[S]) Rests() *Counterexample {
	// Whoever has no inner step to one that is left is taken away; those in circles, and before them, are left.
	out, from := make([]int32, len(s.states)), make([][]int32, len(s.states))
	for i, steps := range s.steps {
		for _, e := range steps {
			if e.inner && !e.timed {
				out[i]++
				from[e.to] = append(from[e.to], int32(i))
			}
		}
	}
	var todo []int32
	for i, n := range out {
		if n == 0 {
			todo = append(todo, int32(i))
		}
	}
	gone := 0
	for ; len(todo) > 0; gone++ {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, j := range from[i] {
			if out[j]--; out[j] == 0 {
				todo = append(todo, j)
			}
		}
	}
	if gone == len(s.states) {
		return nil
	}
	for i, n := range out {
		if n > 0 {
			c := s.trace("it does not rest", i)
			c.Steps = append(c.Steps, "-- and from there, again and again:")
			c.Steps = append(c.Steps, s.circle(int32(i), out)...)
			return c
		}
	}
	return nil
}

// circle walks from a state along inner steps to states that are left until it comes where it was,
// and gives the steps of the circle.
func (s *Space[S]) circle(at int32, left []int32) (steps []string) {
	was := map[int32]int{}
	for {
		if from, known := was[at]; known {
			return steps[from:]
		}
		was[at] = len(steps)
		for _, e := range s.steps[at] {
			if e.inner && !e.timed && left[e.to] > 0 {
				steps = append(steps, s.names[e.name].String())
				at = e.to
				break
			}
		}
	}
}

// trace is how a state was reached.
func (s *Space[S]) trace(what string, at int) *Counterexample {
	c := &Counterexample{What: what}
	for o := s.came[at]; o.from >= 0; o = s.came[o.from] {
		c.Steps = append(c.Steps, s.names[o.name].String())
	}
	slices.Reverse(c.Steps)
	return c
}
