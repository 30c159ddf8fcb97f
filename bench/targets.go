package main

import (
	"fmt"
	"strings"
	"time"
)

// The targets.
const (
	passTarget    = 0.9 // of pgbouncer's throughput, at 8 and 64 clients
	queueTarget   = 0.5 // of hand-written SQL's, prepared, 8 clients
	sessionTarget = 64  // KiB
	grantTarget   = 1.5 // grant latency with 1,000,000 waiting, to that with 1,000
	grantWithin   = 100 * time.Millisecond
	// cpuTarget is the processor time that 1,000 idle sessions may add in ten seconds: at most two ticks of the
	// kernel's clock, which are 10 ms each.
	cpuTarget = 2 * tick
)

// target is one line of the table of targets.
type target struct {
	what, wanted, figure string
	state                string // reached, MISSED, INVALID, not measured
}

func verdict(reached bool) string {
	if reached {
		return "reached"
	}
	return "**MISSED**"
}

func (r *report) targets() []target {
	var out []target
	for _, mode := range protocols {
		for _, clients := range []int{8, 64} {
			out = append(out, r.ratioTarget(fmt.Sprintf("pass-through, %s, %d clients", mode, clients),
				passName(mode, clients), "pgbouncer", passTarget))
		}
	}
	for _, what := range []string{"post", "consume"} {
		for _, batch := range batches {
			out = append(out, r.ratioTarget(fmt.Sprintf("%s, %d at a time, prepared, 8 clients", what, batch),
				queueCellName(what, batch, "prepared", 8), handName, queueTarget))
		}
	}
	for _, form := range dynForms {
		t := r.ratioTarget("dyn_consume, selector as "+form+", prepared, 8 clients", dynCellName(form, "prepared"), "consume", queueTarget)
		out = append(out, t)
	}
	return append(append(out, r.idleTargets()...), r.semaphoreTargets()...)
}

func (r *report) ratioTarget(what, cell, base string, least float64) target {
	t := target{what: what, wanted: fmt.Sprintf("at least %.1f of %s", least, base), figure: "-", state: "not measured"}
	for _, c := range r.cells {
		switch {
		case c.name != cell:
		case c.err != nil:
			t.state = "**INVALID**"
		default:
			arm := "proxy"
			if base == "consume" {
				arm = "dyn_consume"
			}
			ratio := median(c.ratios(arm, base))
			t.figure, t.state = fmt.Sprintf("%.3f", ratio), verdict(ratio >= least)
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

// table writes rows in Markdown; the first one is the head. Columns after the first `left` ones are
// numbers.
func table(b *strings.Builder, left int, rows [][]string) {
	for i, row := range rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
		if i > 0 {
			continue
		}
		for j := range row {
			if j < left {
				b.WriteString("|---")
			} else {
				b.WriteString("|--:")
			}
		}
		b.WriteString("|\n")
	}
	b.WriteString("\n")
}
