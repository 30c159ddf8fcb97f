package semaphores

import (
	"fmt"
	"strings"
	"time"

	"mbusproxy/bench/internal/rig"
)

func (s *Result) ratio(times map[int][]time.Duration, p float64) float64 {
	return rig.Percentile(times[tasksWaiting[1]], p).Seconds() / rig.Percentile(times[tasksWaiting[0]], p).Seconds()
}

// The targets.
const (
	grantTarget = 1.5 // grant latency with 1,000,000 waiting, to that with 1,000
	grantWithin = 100 * time.Millisecond
	manyRate    = 2000 // grants a second in many semaphores
	manyWithin  = 20 * time.Millisecond
)

// Failed is why a cell has no figure; nil: each that was measured has one.
func (s *Result) Failed() error {
	if s == nil {
		return nil
	}
	return s.err
}

// Targets are the lines of the table of targets; nil has those of what was not measured.
func (s *Result) Targets() []rig.Target {
	ratio := rig.Target{What: "grant latency with 1,000,000 tasks waiting, median", Wanted: fmt.Sprintf("at most %.1f of that with 1,000", grantTarget), Figure: "-", State: "not measured"}
	soon := rig.Target{What: "grant latency through the proxy, p99", Wanted: "at most " + grantWithin.String(), Figure: "-", State: "not measured"}
	switch {
	case s == nil || !s.measured:
	case s.err != nil:
		ratio.State, soon.State = "**INVALID**", "**INVALID**"
	case len(s.plain) > 0:
		x := s.ratio(s.plain, 0.5)
		ratio.Figure, ratio.State = fmt.Sprintf("%.2f", x), rig.Verdict(x <= grantTarget)
		worst := rig.Percentile(s.plain[tasksWaiting[1]], 0.99)
		soon.Figure, soon.State = rig.Tenths(worst), rig.Verdict(worst <= grantWithin)
	}
	many := rig.Target{What: "grants in 5,000 semaphores, 8 clients: a second, p99", Wanted: fmt.Sprintf("at least %d, at most %v", manyRate, manyWithin), Figure: "-", State: "not measured"}
	if s != nil && s.err == nil && len(s.many) > 0 {
		worst := rig.Percentile(s.many, 0.99)
		many.Figure, many.State = fmt.Sprintf("%.0f, %s", s.rate, rig.Tenths(worst)), rig.Verdict(s.rate >= manyRate && worst <= manyWithin)
	}
	return []rig.Target{ratio, soon, many}
}

// Table writes what was measured; nil writes nothing.
func (s *Result) Table(b *strings.Builder) {
	if s == nil || !s.measured {
		return
	}
	fmt.Fprintf(b, "## Task semaphore\n\nFrom the commit of a release through the proxy until a client that asks again and again\n"+
		"has consumed the event of the grant; %d slots. Old snapshot: held while %d tasks of each semaphore were granted and released before.\n\n",
		slots, heldGrants)
	if s.err != nil {
		fmt.Fprintf(b, "**%v**\n\n", s.err)
		return
	}
	if len(s.plain) > 0 {
		s.waitingTable(b)
	}
	if len(s.many) > 0 {
		s.manyTable(b)
	}
}

func (s *Result) waitingTable(b *strings.Builder) {
	rows := [][]string{{"Tasks waiting", "p50", "p99", "old snapshot, p50", "old snapshot, p99"}}
	for _, n := range tasksWaiting {
		row := []string{fmt.Sprint(n)}
		for _, times := range []map[int][]time.Duration{s.plain, s.held} {
			row = append(row, rig.Tenths(rig.Percentile(times[n], 0.5)), rig.Tenths(rig.Percentile(times[n], 0.99)))
		}
		rows = append(rows, row)
	}
	rig.Table(b, 1, rows)
}

func (s *Result) manyTable(b *strings.Builder) {
	rig.Table(b, 1, [][]string{
		{fmt.Sprintf("%d semaphores, one slot each", manySemaphores), ""},
		{fmt.Sprintf("grants a second, %d clients that each release a slot and wait for the event of the next grant", manyClients), fmt.Sprintf("%.0f", s.rate)},
		{"their latency, p50", rig.Tenths(rig.Percentile(s.many, 0.5))},
		{"their latency, p99", rig.Tenths(rig.Percentile(s.many, 0.99))},
		{"one grant in each of them, from one commit, until the last", rig.Tenths(s.burst)},
		{"full pass while they rest, median", rig.Tenths(rig.Percentile(s.pass, 0.5))},
	})
}
