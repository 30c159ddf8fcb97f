package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"mbusproxy/bench/internal/rig"
)

// arm is one of the ways compared in a cell.
type arm struct {
	name string
	run  func(ctx context.Context) (sample, error)
}

// cell is one comparison. Its name is group/what/protocol/clients.
type cell struct {
	name    string
	arms    []arm
	turns   []turn                                   // in place of arms: they take turns many times a second
	mean    mean                                     // beside the turns
	many    bool                                     // runs manyRounds times
	prepare func(ctx context.Context, c *cell) error // may be nil; not measured
	note    string                                   // what prepare says about the cell, for the report
}

// mean is one more arm of a cell of turns: in each round what its arms have given on the average.
// Processes of the same program differ by some percent by chance, so that there is to be more than
// one of those that others are compared with.
type mean struct {
	name string // "": there is none
	of   []string
}

// add adds the arm.
func (m mean) add(r *result) {
	if m.name == "" {
		return
	}
	for i := range r.samples[m.of[0]] {
		var out sample
		for _, arm := range m.of {
			s := r.samples[arm][i]
			out.tps += s.tps / float64(len(m.of))
			out.cpu += s.cpu / float64(len(m.of))
		}
		r.samples[m.name] = append(r.samples[m.name], out)
	}
}

// result is what a cell gave; samples by arm, one for each round.
type result struct {
	name    string
	samples map[string][]sample
	note    string
	err     error // the cell failed or is invalid
}

// orders returns a function that gives the order in which n arms take their next turns: another one
// each time, the same ones in each run. Whose turn comes after its own finds the machine's caches
// warm, so the orders must not let that happen to some arms more often than to others, as it does to
// the first and the last where each second round goes the other way round.
func orders(n int) func() []int {
	random := rand.New(rand.NewPCG(0, uint64(n))) //nolint:gosec // no secret
	return func() []int { return random.Perm(n) }
}

// run measures a cell: the arms take turns.
func (b *bench) run(ctx context.Context, c *cell) *result {
	r := &result{name: c.name, samples: map[string][]sample{}}
	fmt.Fprintf(b.say, "%-28s", c.name)
	defer fmt.Fprintln(b.say)
	fail := func(err error) *result {
		r.err = err
		fmt.Fprintf(b.say, " FAILED: %v", err)
		return r
	}
	if c.prepare != nil {
		if err := c.prepare(ctx, c); err != nil {
			return fail(fmt.Errorf("preparing: %w", err))
		}
	}
	r.note = c.note
	if c.turns != nil {
		if err := b.takeTurns(ctx, c, r); err != nil {
			return fail(err)
		}
		c.mean.add(r)
		for i := range c.turns {
			fmt.Fprintf(b.say, "  %s %.0f", c.turns[i].name, r.tps(c.turns[i].name))
		}
		return r
	}
	rounds := b.opt.rounds
	if c.many {
		rounds = b.opt.manyRounds()
	}
	order := orders(len(c.arms))
	for range rounds {
		for _, i := range order() {
			a := c.arms[i]
			s, err := a.run(ctx)
			if err != nil {
				return fail(fmt.Errorf("%s: %w", a.name, err))
			}
			r.samples[a.name] = append(r.samples[a.name], s)
		}
	}
	for _, a := range c.arms {
		fmt.Fprintf(b.say, "  %s %.0f", a.name, r.tps(a.name))
	}
	return r
}

// tps is the median throughput of an arm.
func (r *result) tps(arm string) float64 {
	return rig.Median(r.each(arm, func(s sample) float64 { return s.tps }))
}

// cpu is the median of microseconds per transaction of the process in the middle.
func (r *result) cpu(arm string) float64 {
	return rig.Median(r.each(arm, func(s sample) float64 { return s.cpu }))
}

func (r *result) each(arm string, f func(sample) float64) []float64 {
	var out []float64
	for _, s := range r.samples[arm] {
		out = append(out, f(s))
	}
	return out
}

// ratios are those of two arms' throughput, round by round.
func (r *result) ratios(arm, base string) []float64 {
	return r.ratiosOf(arm, base, func(s sample) float64 { return s.tps })
}

// cpuRatios are those of the processor time of the process in the middle per transaction.
func (r *result) cpuRatios(arm, base string) []float64 {
	return r.ratiosOf(arm, base, func(s sample) float64 { return s.cpu })
}

func (r *result) ratiosOf(arm, base string, f func(sample) float64) []float64 {
	var out []float64
	for i, s := range r.samples[arm] {
		if i < len(r.samples[base]) {
			out = append(out, f(s)/f(r.samples[base][i]))
		}
	}
	return out
}

// part is the n-th part of a cell's name.
func (r *result) part(n int) string {
	parts := strings.Split(r.name, "/")
	if n >= len(parts) {
		return ""
	}
	return parts[n]
}
