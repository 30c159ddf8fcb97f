package bench

import (
	"slices"
	"strconv"
	"time"

	"mbusproxy/internal/cli"
)

// Report is what was measured.
type Report struct {
	Config  Config
	samples []sample
}

// summary is a phase in figures.
type summary struct {
	phase
	length                     time.Duration
	posted, consumed, died     float64 // a second
	p50, p99                   time.Duration
	depth, mostDepth, deadRows int64
	recovered                  time.Duration // -1: not within the phase, or nothing to recover from
}

// summaries are the phases that were run.
func (r *Report) summaries() []summary {
	var all []summary
	for i, p := range phases() {
		s := summary{phase: p, recovered: -1}
		var pickups []time.Duration
		var posted, consumed, died int64
		for _, one := range r.samples {
			if one.phase != i {
				continue
			}
			s.length += one.length
			posted, consumed, died = posted+one.posted, consumed+one.consumed, died+one.died
			pickups = append(pickups, one.pickups...)
			s.depth, s.mostDepth, s.deadRows = one.depth, max(s.mostDepth, one.depth), one.dead
			if p.recovers && s.recovered < 0 && float64(one.depth) <= max(float64(r.Config.Consumers), r.Config.Rate/10) {
				s.recovered = s.length
			}
		}
		if s.length == 0 {
			continue
		}
		slices.Sort(pickups)
		seconds := s.length.Seconds()
		s.posted, s.consumed, s.died = float64(posted)/seconds, float64(consumed)/seconds, float64(died)/seconds
		s.p50, s.p99 = percentile(pickups, 0.5), percentile(pickups, 0.99)
		all = append(all, s)
	}
	return all
}

// Result is a row for each phase.
func (r *Report) Result() *cli.Result {
	out := cli.NewResult([]string{"phase"}, "seconds", "posted_per_second", "consumed_per_second", "p50_ms", "p99_ms", "depth", "max_depth", "dead_rows", "dead_rows_per_second", "recovered_after_seconds")
	for _, s := range r.summaries() {
		recovered := ""
		if s.recovered >= 0 {
			recovered = decimal(s.recovered.Seconds())
		}
		out.Append(s.name, decimal(s.length.Seconds()), decimal(s.posted), decimal(s.consumed), milliseconds(s.p50), milliseconds(s.p99),
			strconv.FormatInt(s.depth, 10), strconv.FormatInt(s.mostDepth, 10), strconv.FormatInt(s.deadRows, 10), decimal(s.died), recovered)
	}
	return out
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 2, 64)
}
