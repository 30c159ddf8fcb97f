package main

import (
	"fmt"
	"slices"
	"time"

	"mbusproxy/bench/internal/rig"
)

// Targets of what is no ratio of two arms.
const (
	sessionTarget = 64 // KiB
	// cpuTarget is the processor time that 1,000 idle sessions may add in ten seconds.
	cpuTarget = 20 * time.Millisecond
)

// bound is what of a ratio a goal bounds, and how.
type bound int

const (
	throughput      bound = iota // at least: the median of the rounds' ratios
	surelyAtLeast                // at least: the lower end of its 95 % interval
	processorAtMost              // at most: the median of the ratios of the processor times
)

// goal is a target for the ratio of two arms of a cell.
type goal struct {
	what, cell, arm, base string
	limit                 float64
	bound                 bound
}

func goals() []goal {
	var out []goal
	add := func(what, cell, arm, base string, limit float64, m bound) {
		out = append(out, goal{what, cell, arm, base, limit, m})
	}
	for _, q := range queueSpecs() {
		if q.clients != 8 {
			continue
		}
		what := fmt.Sprintf("%s, %d at a time, %s, 8 clients", q.action, q.batch, q.mode)
		switch q.work {
		case plain:
			add(what, q.name(), proxyName, bouncerName, 0.9, throughput)
			if q.mode == "prepared" {
				add(what, q.name(), proxyName, handName, 0.75, throughput)
			}
		case headers:
			add("headers and iid given: "+what, q.name(), proxyName, plainName, 0.95, throughput)
		case busy:
			add("selectors, dependencies, triggers beside it: "+what, q.name(), proxyName, plainName, 0.95, throughput)
		}
	}
	add("lease + ack, prepared, 8 clients", leaseName, proxyName, bouncerName, 0.9, throughput)
	add("dyn_consume, selector as parameter, prepared, 8 clients", dynCellName("parameter", "prepared"), "dyn_consume", "consume", 0.8, throughput)
	for _, mode := range protocols {
		for _, clients := range passClients {
			add(fmt.Sprintf("pass-through, %s, %d clients", mode, clients), passName(mode, clients), "proxy", "pgbouncer", 0.97, surelyAtLeast)
		}
	}
	for _, mode := range protocols {
		add("pass-through with TLS, "+mode+", 8 clients", tlsName(mode), "proxy", "pgbouncer", 0.97, surelyAtLeast)
	}
	for _, q := range bulkQueries {
		for _, clients := range bulkClients {
			add(fmt.Sprintf("pass-through, %s, clients: %d", q.about, clients), bulkName(q.name, clients), "proxy", "pgbouncer", 0.97, surelyAtLeast)
		}
	}
	for _, mode := range tracingModes {
		add("tracing, post with a context, "+mode+", 8 clients", tracingCell(mode), tracingOn, tracingOff, 0.95, throughput)
	}
	for _, action := range watchedActions {
		for _, mode := range protocols {
			add("being looked at, "+action+", "+mode+", 8 clients", watchedCell(action, mode), watchedPath, equalPath, 0.97, surelyAtLeast)
		}
	}
	for _, action := range actions {
		for _, mode := range protocols {
			add(fmt.Sprintf("processor time of %s from the cache, %s", action, mode), cpuName(action, mode), servedName, forwardedName, 1.3, processorAtMost)
		}
	}
	return out
}

func (r *report) targets() []rig.Target {
	var out []rig.Target
	for _, g := range goals() {
		out = append(out, r.reached(g))
	}
	return slices.Concat(out, r.idleTargets(), r.slots.Targets(), r.waitingTargets(), r.seeingTargets(), r.scrapingTargets())
}

func (r *report) reached(g goal) rig.Target {
	t := rig.Target{What: g.what, Figure: "-", State: "not measured"}
	switch g.bound {
	case throughput:
		t.Wanted = fmt.Sprintf("at least %.2f of %s", g.limit, g.base)
	case surelyAtLeast:
		t.Wanted = fmt.Sprintf("at least %.2f of %s, with 95 %% confidence", g.limit, g.base)
	case processorAtMost:
		t.Wanted = fmt.Sprintf("at most %.2f of %s", g.limit, g.base)
	}
	for _, c := range r.cells {
		switch {
		case c.name != g.cell:
		case c.err != nil:
			t.State = "**INVALID**"
		case g.bound == processorAtMost:
			ratios := c.cpuRatios(g.arm, g.base)
			t.Figure, t.State = rig.Spread(ratios), rig.Verdict(rig.Median(ratios) <= g.limit)
		default:
			ratios := c.ratios(g.arm, g.base)
			low, _, enough := rig.Interval(ratios)
			t.Figure = rig.Spread(ratios)
			switch {
			case g.bound == throughput:
				t.State = rig.Verdict(rig.Median(ratios) >= g.limit)
			case enough:
				t.State = rig.Verdict(low >= g.limit)
			default:
				t.State = "too few rounds"
			}
		}
	}
	return t
}

func (r *report) idleTargets() []rig.Target {
	mem := rig.Target{What: "memory of an idle session", Wanted: fmt.Sprintf("less than %d KiB", sessionTarget), Figure: "-", State: "not measured"}
	cpu := rig.Target{What: fmt.Sprintf("CPU of %d idle sessions", idleSessions), Wanted: "none", Figure: "-", State: "not measured"}
	switch i := r.idle; {
	case i == nil:
	case i.err != nil:
		mem.State, cpu.State = "**INVALID**", "**INVALID**"
	default:
		mem.Figure, mem.State = fmt.Sprintf("%.1f KiB", i.perSession()), rig.Verdict(i.perSession() < sessionTarget)
		if i.cpu {
			more := max(i.cpuAll-i.cpuNone, 0)
			cpu.Figure, cpu.State = milliseconds(more)+" in "+cpuWindow.String(), rig.Verdict(more <= cpuTarget)
		}
	}
	return []rig.Target{mem, cpu}
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }
