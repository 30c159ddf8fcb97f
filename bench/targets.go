package main

import (
	"fmt"
	"slices"
	"time"

	"mbusproxy/bench/internal/rig"
)

// Targets of what is no ratio of two arms.
const (
	sessionTarget = 64  // KiB
	grantTarget   = 1.5 // grant latency with 1,000,000 waiting, to that with 1,000
	grantWithin   = 100 * time.Millisecond
	manyRate      = 2000 // grants a second in many semaphores
	manyWithin    = 20 * time.Millisecond
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
			add("being looked at, "+action+", "+mode+", 8 clients", watchedCell(action, mode), watchedPath, alonePath, 0.97, surelyAtLeast)
		}
	}
	for _, action := range actions {
		for _, mode := range protocols {
			add(fmt.Sprintf("processor time of %s from the cache, %s", action, mode), cpuName(action, mode), servedName, forwardedName, 1.3, processorAtMost)
		}
	}
	return out
}

// target is one line of the table of targets.
type target struct {
	what, wanted, figure string
	state                string // reached, MISSED, INVALID, not measured, too few rounds
}

func verdict(reached bool) string {
	if reached {
		return "reached"
	}
	return "**MISSED**"
}

func (r *report) targets() []target {
	var out []target
	for _, g := range goals() {
		out = append(out, r.reached(g))
	}
	return slices.Concat(out, r.idleTargets(), r.semaphoreTargets(), r.waitingTargets(), r.seeingTargets(), r.scrapingTargets())
}

func (r *report) reached(g goal) target {
	t := target{what: g.what, figure: "-", state: "not measured"}
	switch g.bound {
	case throughput:
		t.wanted = fmt.Sprintf("at least %.2f of %s", g.limit, g.base)
	case surelyAtLeast:
		t.wanted = fmt.Sprintf("at least %.2f of %s, with 95 %% confidence", g.limit, g.base)
	case processorAtMost:
		t.wanted = fmt.Sprintf("at most %.2f of %s", g.limit, g.base)
	}
	for _, c := range r.cells {
		switch {
		case c.name != g.cell:
		case c.err != nil:
			t.state = "**INVALID**"
		case g.bound == processorAtMost:
			ratios := c.cpuRatios(g.arm, g.base)
			t.figure, t.state = rig.Spread(ratios), verdict(rig.Median(ratios) <= g.limit)
		default:
			ratios := c.ratios(g.arm, g.base)
			low, _, enough := rig.Interval(ratios)
			t.figure = rig.Spread(ratios)
			switch {
			case g.bound == throughput:
				t.state = verdict(rig.Median(ratios) >= g.limit)
			case enough:
				t.state = verdict(low >= g.limit)
			default:
				t.state = "too few rounds"
			}
		}
	}
	return t
}

func (r *report) idleTargets() []target {
	mem := target{what: "memory of an idle session", wanted: fmt.Sprintf("less than %d KiB", sessionTarget), figure: "-", state: "not measured"}
	cpu := target{what: fmt.Sprintf("CPU of %d idle sessions", idleSessions), wanted: "none", figure: "-", state: "not measured"}
	switch i := r.idle; {
	case i == nil:
	case i.err != nil:
		mem.state, cpu.state = "**INVALID**", "**INVALID**"
	default:
		mem.figure, mem.state = fmt.Sprintf("%.1f KiB", i.perSession()), verdict(i.perSession() < sessionTarget)
		if i.cpu {
			more := max(i.cpuAll-i.cpuNone, 0)
			cpu.figure, cpu.state = milliseconds(more)+" in "+cpuWindow.String(), verdict(more <= cpuTarget)
		}
	}
	return []target{mem, cpu}
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }
