package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mbusproxy/bench/internal/rig"
)

// moment is what the planner knew when a state was measured.
type moment int

const (
	notAnalyzed moment = iota
	analyzed
	analyzedEmpty
	preparedEmpty
	moments
)

func (m moment) String() string {
	return [...]string{"not analyzed", "analyzed", "analyzed empty", "prepared empty"}[m]
}

// result is what a call gave in a state at a moment, by rounds.
type result struct {
	state  *state
	size   int
	moment moment
	target target
	clean  []sample
	then   []sample
	err    error
}

func (r *result) name() string {
	return fmt.Sprintf("%s/%s/%s", r.state.name, r.moment, r.target.name())
}

func (r *result) ratios() []float64 {
	var out []float64
	for i := range r.then {
		out = append(out, r.then[i].rate/r.clean[i].rate)
	}
	return out
}

// slower are the ratios of the 99th percentiles.
func (r *result) slower() []float64 {
	var out []float64
	for i := range r.then {
		out = append(out, r.then[i].p99.Seconds()/r.clean[i].p99.Seconds())
	}
	return out
}

func rates(samples []sample) []float64 {
	var out []float64
	for _, s := range samples {
		out = append(out, s.rate)
	}
	return out
}

// targets are the calls to be measured in a state, in their order.
func targets(s *state) []target {
	var out []target
	for _, c := range calls() {
		if c.none || slices.Contains(s.own, c.name) {
			out = append(out, target{c, own})
		}
		if !c.none {
			out = append(out, target{c, other})
		}
	}
	return out
}

// wanted are those of the targets that -only lets through.
func (b *bench) wanted(s *state, m moment) []target {
	return slices.DeleteFunc(targets(s), func(t target) bool {
		return !b.opt.scope.Wants((&result{state: s, moment: m, target: t}).name())
	})
}

// state measures one state at a size, at all moments at which something is wanted of it.
func (b *bench) state(ctx context.Context, s *state, n int, wanted func(m moment) []target) ([]*result, error) {
	var all []*result
	for _, ms := range [][]moment{{notAnalyzed, analyzed}, {preparedEmpty, analyzedEmpty}} {
		if !slices.ContainsFunc(ms, func(m moment) bool { return len(wanted(m)) > 0 }) {
			continue
		}
		results, err := b.built(ctx, s, n, ms, wanted)
		all = append(all, results...)
		if err != nil {
			return all, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return all, nil
}

// built builds a state once and measures it at the moments, each beside a clean database of its own.
func (b *bench) built(ctx context.Context, s *state, n int, at []moment, wanted func(m moment) []target) (all []*result, err error) {
	then, err := openSite(ctx, b.stack, "state")
	if err != nil {
		return nil, err
	}
	defer then.drop(ctx)
	var p *pair
	if slices.Contains(at, preparedEmpty) {
		if err := then.sql(ctx, "analyze"); err != nil {
			return nil, err
		}
		if p, err = b.pair(ctx, then, wanted(preparedEmpty)); err != nil {
			return nil, err
		}
		defer p.close(ctx)
	}
	began := time.Now()
	if err := s.build(ctx, then, n); err != nil {
		return nil, fmt.Errorf("building: %w", err)
	}
	fmt.Fprintf(b.say, "%s: %s in %v\n", s.name, thousands(n), time.Since(began).Round(time.Millisecond))
	for _, m := range at {
		if m == analyzed {
			if err := then.sql(ctx, "analyze"); err != nil {
				return all, err
			}
		}
		if m != preparedEmpty {
			if p, err = b.pair(ctx, then, nil); err != nil {
				return all, err
			}
		}
		for _, t := range wanted(m) {
			r := &result{state: s, size: n, moment: m, target: t}
			r.err = b.rounds(ctx, r, p)
			all = append(all, r)
			b.tell(r)
			if ctx.Err() != nil {
				break
			}
		}
		p.close(ctx)
		if ctx.Err() != nil {
			return all, ctx.Err()
		}
	}
	return all, nil
}

// pair is sessions of a clean database and of the one in a state.
type pair struct {
	clean, then *crowd
}

// pair makes a clean database, and opens sessions in both, which prepare what is given.
func (b *bench) pair(ctx context.Context, then *site, early []target) (*pair, error) {
	clean, err := openSite(ctx, b.stack, "clean")
	if err != nil {
		return nil, err
	}
	p := &pair{clean: &crowd{site: clean}, then: &crowd{site: then}}
	for _, c := range []*crowd{p.clean, p.then} {
		if err := errors.Join(c.open(ctx), c.prepare(ctx, early)); err != nil {
			p.close(ctx)
			return nil, err
		}
	}
	return p, nil
}

// close ends the sessions and removes the clean database. It may be called again.
func (p *pair) close(ctx context.Context) {
	if p.clean.members == nil {
		return
	}
	p.clean.close()
	p.then.close()
	p.clean.site.drop(ctx)
}

// rounds has the two databases take turns.
func (b *bench) rounds(ctx context.Context, r *result, p *pair) (err error) {
	arms := []struct {
		crowd *crowd
		into  *[]sample
	}{{p.clean, &r.clean}, {p.then, &r.then}}
	if err := errors.Join(p.clean.site.mark(ctx), p.then.site.mark(ctx)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.clean.site.restore(ctx), p.then.site.restore(ctx)) }()
	for round := range b.opt.rounds {
		for i := range arms {
			a := arms[(i+round)%2] // every second one the other way round, so that what drifts favours nobody
			if round == 0 {        // does not count: sessions plan, caches fill
				if _, err := a.crowd.measure(ctx, r.target, 0); err != nil {
					return err
				}
			}
			s, err := a.crowd.measure(ctx, r.target, b.opt.length)
			if err != nil {
				return err
			}
			*a.into = append(*a.into, s)
			if s.stuck && a.into == &r.then && len(r.clean) == len(r.then) {
				return nil // there is no more to learn
			}
		}
	}
	return nil
}

func (b *bench) tell(r *result) {
	if r.err != nil {
		fmt.Fprintf(b.say, "  %-60s FAILED: %v\n", r.name(), r.err)
		return
	}
	fmt.Fprintf(b.say, "  %-60s %8.0f/s  of clean %s\n", r.name(), rig.Median(rates(r.then)), extremes(r.ratios()))
}

// extremes shows the median with the lowest and the highest.
func extremes(v []float64) string {
	if len(v) < 2 {
		return ratio(rig.Median(v))
	}
	return fmt.Sprintf("%s (%s to %s)", ratio(rig.Median(v)), ratio(slices.Min(v)), ratio(slices.Max(v)))
}

// ratio has two digits that say something.
func ratio(v float64) string {
	switch {
	case v >= 10:
		return fmt.Sprintf("%.0f", v)
	case v >= 0.095:
		return fmt.Sprintf("%.2f", v)
	case v >= 0.0095:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.4f", v)
}
