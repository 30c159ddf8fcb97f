package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"mbusproxy/bench/internal/rig"
)

// What is to be reached, as the rate of the clean one.
const (
	otherTarget = 0.95
	ownTarget   = 0.8
)

// report collects what was measured.
type report struct {
	opt     options
	machine []rig.Property
	began   time.Time
	took    time.Duration
	results []*result
	curves  []*curve
}

// valid tells whether every call that was run gave a figure.
func (r *report) valid() bool {
	return !slices.ContainsFunc(r.results, func(x *result) bool { return x.err != nil })
}

const preamble = `# Scale

Written by ` + "`make bench-scale`" + `; do not edit. What calls cost beside what others have left in a database, and in it. Each state is built in a
database of its own and takes turns with a clean one, %d clients each, prepared unless said, round after round, every second round the other way
round. A ratio is the rate in the state to the rate in the clean database: the median of the rounds, with the lowest and the highest. "Own" is the
queue that is in the state, "other" one that has nothing to do with it; what is of no queue counts as own. A call that takes longer than %v is
ended there, and counts as one that takes so long.

At each state stands what the planner knew: *not analyzed* at all; *analyzed*, as autovacuum does after a while; *analyzed empty*, then
filled; *prepared empty*: by sessions that prepared and planned their statements when there was nothing. Autovacuum is off.

`

func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, preamble, clients, limit)
	rows := [][]string{{"Machine", ""}}
	for _, p := range r.machine {
		if p.Name != "pgbouncer" && p.Name != "pgbench" {
			rows = append(rows, []string{p.Name, p.Value})
		}
	}
	rows = append(rows,
		[]string{"Date", r.began.UTC().Format("2006-01-02 15:04 UTC") + ", took " + r.took.Round(time.Second).String()},
		[]string{"Command", "`" + r.opt.command() + "`"})
	rig.Table(&b, 2, rows)
	r.summary(&b)
	r.plots(&b)
	for _, s := range states() {
		r.details(&b, s)
	}
	return strings.TrimSpace(b.String()) + "\n"
}

// of are the results of a state.
func (r *report) of(s *state) []*result {
	var out []*result
	for _, x := range r.results {
		if x.state.name == s.name {
			out = append(out, x)
		}
	}
	return out
}

// isOwnWork tells whether a call has more to do in the state.
func (r *result) isOwnWork() bool {
	return r.target.queue == own && r.state.work[r.target.call.name] != ""
}

// surely is a rate of clean that a call does not reach, by the interval of the rounds.
func (r *result) surely() float64 {
	_, high, _ := rig.Interval(r.ratios())
	return high
}

// lowest is the result that is the slowest even if its rounds were unlucky; nil where there is none.
func lowest(results []*result, those func(*result) bool) *result {
	var low *result
	for _, x := range results {
		if x.err == nil && those(x) && (low == nil || x.surely() < low.surely()) {
			low = x
		}
	}
	return low
}

// summary has a line for each state: the worst of each kind.
func (r *report) summary(b *strings.Builder) {
	fmt.Fprintf(b, "## States\n\nThe slowest call of each state at any of the moments: the one whose luckiest round was the slowest. To reach: %v of clean for other queues,\n"+
		"%v for the one in the state, but for work that is its own. Bold: below that in all rounds.\n\n", otherTarget, ownTarget)
	rows := [][]string{{"State", "Slowest call of another queue", "a second", "of clean", "Slowest call of its own", "a second", "of clean", "Own work", "of clean"}}
	for _, s := range states() {
		results := r.of(s)
		if len(results) == 0 {
			continue
		}
		row := []string{s.shown(results[0].size)}
		row = append(row, worst(results, otherTarget, func(x *result) bool { return x.target.queue == other })...)
		row = append(row, worst(results, ownTarget, func(x *result) bool { return x.target.queue == own && !x.isOwnWork() })...)
		if low := lowest(results, (*result).isOwnWork); low != nil {
			row = append(row, fmt.Sprintf("%s: %s, %s", low.target.call.name, low.state.work[low.target.call.name], low.moment), extremes(low.ratios()))
		} else {
			row = append(row, "", "")
		}
		rows = append(rows, row)
	}
	rig.Table(b, 2, rows)
}

func worst(results []*result, bound float64, those func(*result) bool) []string {
	low := lowest(results, those)
	if low == nil {
		return []string{"", "", ""}
	}
	figure := extremes(low.ratios())
	if low.surely() < bound {
		figure = "**" + figure + "**"
	}
	return []string{low.target.call.name + ", " + low.moment.String(), perSecond(rig.Median(rates(low.then))), figure}
}

func perSecond(rate float64) string {
	if rate < 10 {
		return fmt.Sprintf("%.1f", rate)
	}
	return thousands(int(math.Round(rate)))
}

// thousands writes a number with commas.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

func (s *state) shown(n int) string { return strings.ReplaceAll(s.about, "{n}", thousands(n)) }

// details has a line for each call of a state.
func (r *report) details(b *strings.Builder, s *state) {
	results := r.of(s)
	if len(results) == 0 {
		return
	}
	fmt.Fprintf(b, "## %s%s\n\n%s. Each column: rate of clean; behind the bar the 99th percentile's.\n\n", strings.ToUpper(s.name[:1]), s.name[1:], s.shown(results[0].size))
	rows := [][]string{{"Queue", "Call", "clean, a second"}}
	for m := range moments {
		rows[0] = append(rows[0], m.String())
	}
	for _, t := range targets(s) {
		row := make([]string, 3+moments)
		row[0], row[1] = t.queue, t.call.name
		seen := false
		for _, x := range results {
			if x.target.name() != t.name() {
				continue
			}
			seen = true
			if x.err != nil {
				row[3+x.moment] = "**" + x.err.Error() + "**"
				continue
			}
			if row[2] == "" {
				row[2] = perSecond(rig.Median(rates(x.clean)))
			}
			row[3+x.moment] = fmt.Sprintf("%s ¦ %s", extremes(x.ratios()), ratio(rig.Median(x.slower())))
		}
		if seen {
			rows = append(rows, row)
		}
	}
	rig.Table(b, 2, rows)
}
