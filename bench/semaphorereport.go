package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mbusproxy/bench/internal/rig"
)

// percentile is 0 for no values.
func percentile(times []time.Duration, p float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}

func (r *semaphoreResult) ratio(times map[int][]time.Duration, p float64) float64 {
	return percentile(times[semaphoreWaiting[1]], p).Seconds() / percentile(times[semaphoreWaiting[0]], p).Seconds()
}

func (r *report) semaphoreTargets() []target {
	ratio := target{what: "grant latency with 1,000,000 tasks waiting, median", wanted: fmt.Sprintf("at most %.1f of that with 1,000", grantTarget), figure: "-", state: "not measured"}
	soon := target{what: "grant latency through the proxy, p99", wanted: "at most " + grantWithin.String(), figure: "-", state: "not measured"}
	switch s := r.slots; {
	case s == nil || !s.measured:
	case s.err != nil:
		ratio.state, soon.state = "**INVALID**", "**INVALID**"
	case len(s.plain) > 0:
		x := s.ratio(s.plain, 0.5)
		ratio.figure, ratio.state = fmt.Sprintf("%.2f", x), verdict(x <= grantTarget)
		worst := percentile(s.plain[semaphoreWaiting[1]], 0.99)
		soon.figure, soon.state = tenths(worst), verdict(worst <= grantWithin)
	}
	many := target{what: "grants in 5,000 semaphores, 8 clients: a second, p99", wanted: fmt.Sprintf("at least %d, at most %v", manyRate, manyWithin), figure: "-", state: "not measured"}
	if s := r.slots; s != nil && s.err == nil && len(s.many) > 0 {
		worst := percentile(s.many, 0.99)
		many.figure, many.state = fmt.Sprintf("%.0f, %s", s.rate, tenths(worst)), verdict(s.rate >= manyRate && worst <= manyWithin)
	}
	return []target{ratio, soon, many}
}

func tenths(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

func (r *report) semaphoreTable(b *strings.Builder) {
	s := r.slots
	if s == nil || !s.measured {
		return
	}
	fmt.Fprintf(b, "## Task semaphore\n\nFrom the commit of a release through the proxy until a client that asks again and again\n"+
		"has consumed the event of the grant; %d slots. Old snapshot: held while %d tasks of each semaphore were granted and released before.\n\n",
		semaphoreSlots, heldGrants)
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

func (s *semaphoreResult) waitingTable(b *strings.Builder) {
	rows := [][]string{{"Tasks waiting", "p50", "p99", "old snapshot, p50", "old snapshot, p99"}}
	for _, n := range semaphoreWaiting {
		row := []string{fmt.Sprint(n)}
		for _, times := range []map[int][]time.Duration{s.plain, s.held} {
			row = append(row, tenths(percentile(times[n], 0.5)), tenths(percentile(times[n], 0.99)))
		}
		rows = append(rows, row)
	}
	rig.Table(b, 1, rows)
}

func (s *semaphoreResult) manyTable(b *strings.Builder) {
	rig.Table(b, 1, [][]string{
		{fmt.Sprintf("%d semaphores, one slot each", manySemaphores), ""},
		{fmt.Sprintf("grants a second, %d clients that each release a slot and wait for the event of the next grant", manyClients), fmt.Sprintf("%.0f", s.rate)},
		{"their latency, p50", tenths(percentile(s.many, 0.5))},
		{"their latency, p99", tenths(percentile(s.many, 0.99))},
		{"one grant in each of them, from one commit, until the last", tenths(s.burst)},
		{"full pass while they rest, median", tenths(percentile(s.pass, 0.5))},
	})
}
