package main

import (
	"context"
	"slices"
)

// state is what a database holds.
type state struct {
	name  string
	about string // with {n} for how many there are
	full  int    // how many at -size 1
	small int    // how many in the tests: so many that to read all of it shows
	build func(ctx context.Context, s *site, n int) error
	// own are the calls of the queue in that state that are measured, by name; none: the state has no queue.
	own []string
	// work are those of them that have more to do than on a clean queue, with what.
	work map[string]string
}

// sized is how many a state has at a size.
func (s *state) sized(size float64) int { return max(1, int(float64(s.full)*size+0.5)) }

// states are all, in the order of the report.
func states() []*state {
	return slices.Concat(waitingStates(), messageStates(), consumerStates(), heldStates(), otherStates())
}

// queueCalls are calls that any queue has.
var queueCalls = []string{"estimated_messages", "consume", "dyn_consume", "post", "post, iid"}
