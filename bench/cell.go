package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
	prepare func(ctx context.Context, c *cell) error // may be nil; not measured
	note    string                                   // what prepare says about the cell, for the report
}

// result is what a cell gave; samples by arm, one for each round.
type result struct {
	name    string
	samples map[string][]sample
	note    string
	err     error // the cell failed or is invalid
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
	for range b.opt.rounds {
		for _, a := range c.arms {
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
	return median(r.each(arm, func(s sample) float64 { return s.tps }))
}

// cpu is the median of microseconds per transaction of the process in the middle.
func (r *result) cpu(arm string) float64 {
	return median(r.each(arm, func(s sample) float64 { return s.cpu }))
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
	var out []float64
	for i, s := range r.samples[arm] {
		if i < len(r.samples[base]) {
			out = append(out, s.tps/r.samples[base][i].tps)
		}
	}
	return out
}

// median is 0 for no values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// part is the n-th part of a cell's name.
func (r *result) part(n int) string {
	parts := strings.Split(r.name, "/")
	if n >= len(parts) {
		return ""
	}
	return parts[n]
}
