package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"mbusproxy/bench/internal/rig"
)

// parts are the sizes of a curve, of the whole.
var parts = []float64{1.0 / 64, 1.0 / 16, 1.0 / 4, 1}

// curve is the rate of a call over the size of a state.
type curve struct {
	worst  *result   // at the whole size
	points []*result // by parts
}

// steepest are the worst calls of the states that have the worst ones, but for own work.
func (r *report) steepest() []*result {
	var out []*result
	for _, s := range states() {
		if low := lowest(r.of(s), func(x *result) bool { return !x.isOwnWork() }); low != nil {
			out = append(out, low)
		}
	}
	slices.SortStableFunc(out, func(a, b *result) int { return cmp.Compare(a.surely(), b.surely()) })
	return out[:min(len(out), r.opt.steep)]
}

// draw measures the steepest at smaller sizes.
func (b *bench) draw(ctx context.Context, r *report) error {
	for _, w := range r.steepest() {
		c := &curve{worst: w}
		for _, part := range parts {
			if part == 1 {
				c.points = append(c.points, w)
				continue
			}
			n := w.state.sized(b.opt.size * part)
			results, err := b.state(ctx, w.state, n, func(m moment) []target {
				if m != w.moment {
					return nil
				}
				return []target{w.target}
			})
			if err != nil {
				return err
			}
			c.points = append(c.points, results...)
		}
		r.curves = append(r.curves, c)
	}
	return nil
}

const barWidth = 60

// plots draws the curves: a bar for each size, a full one where the rate is that of the clean database.
func (r *report) plots(b *strings.Builder) {
	if len(r.curves) == 0 {
		return
	}
	fmt.Fprintf(b, "## The steepest\n\nThe rate over the size of the state, of the slowest calls above that have no more to do than on a clean queue. A bar of %d is the rate of the clean database.\n\n```text\n", barWidth)
	for i, c := range r.curves {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "%s: %s of %s, %s\n", c.worst.state.name, c.worst.target.call.name, c.worst.target.queue, c.worst.moment)
		for _, p := range c.points {
			if p.err != nil {
				fmt.Fprintf(b, "%12s  %v\n", thousands(p.size), p.err)
				continue
			}
			line := fmt.Sprintf("%12s  %-*s %8s/s  %s", thousands(p.size), barWidth, bar(rig.Median(p.ratios())), perSecond(rig.Median(rates(p.then))), ratio(rig.Median(p.ratios())))
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	b.WriteString("```\n\n")
}

func bar(of float64) string {
	return strings.Repeat("#", max(0, min(barWidth, int(of*barWidth+0.5))))
}
