package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"mbusproxy/bench/internal/rig"
)

const printed = `pgbench (15.18 (Debian 15.18-0+deb12u1))
progress: 1.0 s, 1000.5 tps, lat 0.409 ms stddev 0.100, 0 failed
progress: 2.0 s, 999.5 tps, lat 0.409 ms stddev 0.100, 0 failed
transaction type: <builtin: select only>
scaling factor: 10
number of transactions actually processed: 2000
number of failed transactions: 0 (0.000%)
latency average = 0.409 ms
initial connection time = 12.345 ms
tps = 1000.123456 (without initial connection time)
`

func TestParseSample(t *testing.T) {
	s, err := parseSample(printed, 1)
	if err != nil {
		t.Fatal(err)
	}
	if s.count != 2000 || s.tps != 999.5 || !slices.Equal(s.perSec, []float64{999.5}) {
		t.Errorf("got %+v", s)
	}
}

// pgbench may end before it tells of the last second.
func TestParseSampleFillsInTheLastSecond(t *testing.T) {
	s, err := parseSample(printed, 2)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.perSec, []float64{999.5, 0}) || s.tps != 499.75 {
		t.Errorf("got %+v", s)
	}
}

func TestParseSampleRefuses(t *testing.T) {
	for name, out := range map[string]string{
		"failures":  strings.Replace(printed, "transactions: 0 (", "transactions: 3 (", 1),
		"nothing":   "pgbench: error: connection to server failed\n",
		"no result": strings.Replace(printed, "processed: 2000", "processed: 0", 1),
		"silence":   strings.ReplaceAll(printed, "progress:", ""),
	} {
		if s, err := parseSample(out, 1); err == nil {
			t.Errorf("%s: got %+v and no error", name, s)
		}
	}
}

// The ratio is that of the rounds: here the machine was twice as fast in the second one.
func TestRatios(t *testing.T) {
	r := &result{samples: map[string][]sample{
		"proxy":     {{tps: 90}, {tps: 180}, {tps: 90}},
		"pgbouncer": {{tps: 100}, {tps: 200}, {tps: 100}},
	}}
	if got := rig.Median(r.ratios("proxy", "pgbouncer")); got != 0.9 {
		t.Errorf("got %v", got)
	}
}

// times makes samples that are so many times those of a base that changes from round to round.
func times(factor float64, rounds int) []sample {
	var out []sample
	for i := range rounds {
		f := factor * float64(100+10*(i%3))
		out = append(out, sample{tps: f, cpu: f})
	}
	return out
}

func TestReportMarksWhatWasMissedAndWhatIsInvalid(t *testing.T) {
	middle := func(proxy float64, rounds int) map[string][]sample {
		return map[string][]sample{"proxy": times(proxy, rounds), "pgbouncer": times(1, rounds), "direct": times(2, 7)}
	}
	unsure := middle(1, 15)
	for i := range 4 {
		unsure["proxy"][i].tps *= 0.9 // so many low rounds that the interval begins there
	}
	queue := map[string][]sample{bouncerName: times(1, 7), handName: times(1, 7), plainName: times(1, 7), "proxy": times(0.8, 7)}
	r := &report{opt: options{rounds: 7}, cells: []*result{
		{name: passName("simple", 8), samples: middle(0.98, 15)},
		{name: passName("simple", 64), samples: unsure},
		{name: bulkName("copy", 1), samples: middle(1.5, 5)},
		{name: queueSpec{plain, "post", 1, "prepared", 8}.name(), samples: queue},
		{name: queueSpec{headers, "post", 1, "prepared", 8}.name(), samples: queue},
		{name: queueSpec{plain, "consume", 1, "prepared", 8}.name(), err: errEmpty},
		{name: cpuName("post", "simple"), samples: map[string][]sample{servedName: times(1.2, 7), forwardedName: times(1, 7)}},
		{name: cpuName("post", "prepared"), samples: map[string][]sample{servedName: times(1.4, 7), forwardedName: times(1, 7)}},
	}}
	if r.valid() {
		t.Error("a report with an invalid cell passes for valid")
	}
	text := r.markdown()
	for _, want := range []string{
		"| pass-through, simple, 8 clients | at least 0.97 of pgbouncer, with 95 % confidence | 0.98 (0.98 to 0.98) | reached |",
		"| pass-through, simple, 64 clients | at least 0.97 of pgbouncer, with 95 % confidence | 1.00 (0.90 to 1.00) | **MISSED** |",
		"| pass-through, COPY out of 20,000 accounts, 2 MB, clients: 1 | at least 0.97 of pgbouncer, with 95 % confidence | 1.50 (1.50 to 1.50) | too few rounds |",
		"| post, 1 at a time, prepared, 8 clients | at least 0.90 of hand-written, pgbouncer | 0.80 (0.80 to 0.80) | **MISSED** |",
		"| post, 1 at a time, prepared, 8 clients | at least 0.75 of hand-written | 0.80 (0.80 to 0.80) | reached |",
		"| headers and iid given: post, 1 at a time, prepared, 8 clients | at least 0.95 of proxy, plain | 0.80 (0.80 to 0.80) | **MISSED** |",
		"| consume, 1 at a time, prepared, 8 clients | at least 0.90 of hand-written, pgbouncer | - | **INVALID** |",
		"| processor time of post from the cache, simple | at most 1.30 of forwarded | 1.20 (1.20 to 1.20) | reached |",
		"| processor time of post from the cache, prepared | at most 1.30 of forwarded | 1.40 (1.40 to 1.40) | **MISSED** |",
		"| memory of an idle session | less than 64 KiB | - | not measured |",
		"**INVALID: the queue ran empty**",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
}

// Each target names a cell and two arms that the program has; else it would never be measured.
func TestGoalsHaveCells(t *testing.T) {
	b := &bench{stack: &rig.Stack{Direct: rig.Path{Name: "direct"}, Bouncer: rig.Path{Name: "pgbouncer", PID: 1}, Proxy: rig.Path{Name: "proxy", PID: 1}}}
	arms := map[string][]string{}
	cells := b.cells()
	for _, mode := range tracingModes { // they have proxies of their own
		cells = append(cells, tracedCell(mode, b.stack.Proxy, b.stack.Proxy, b.stack.Proxy))
	}
	cells = append(cells, watchedCells(watchedPaths{b.stack.Proxy, b.stack.Proxy, b.stack.Proxy, b.stack.Proxy})...)
	for _, c := range cells {
		if arms[c.name] != nil {
			t.Errorf("two cells are called %s", c.name)
		}
		for _, a := range c.arms {
			arms[c.name] = append(arms[c.name], a.name)
		}
		for _, t := range c.turns {
			arms[c.name] = append(arms[c.name], t.name)
		}
		for _, of := range c.mean.of {
			if !slices.Contains(arms[c.name], of) {
				t.Errorf("%s: a mean of %q", c.name, of)
			}
		}
		arms[c.name] = append(arms[c.name], c.mean.name)
	}
	for _, g := range goals() {
		if !slices.Contains(arms[g.cell], g.arm) || !slices.Contains(arms[g.cell], g.base) {
			t.Errorf("%s: %s has not both %q and %q in all rounds", g.what, g.cell, g.arm, g.base)
		}
	}
}

// The mean of arms is that of each round.
func TestMeanOfArms(t *testing.T) {
	r := &result{samples: map[string][]sample{"a": {{tps: 1, cpu: 10}, {tps: 2, cpu: 20}}, "b": {{tps: 3, cpu: 30}, {tps: 6, cpu: 20}}, "c": {{tps: 4}, {tps: 4}}}}
	mean{"both", []string{"a", "b"}}.add(r)
	mean{}.add(r)
	if got, want := r.ratios("c", "both"), []float64{2, 1}; !slices.Equal(got, want) || r.cpu("both") != 20 || len(r.samples) != 4 {
		t.Errorf("ratios %v, want %v; processor time %v; arms: %v", got, want, r.cpu("both"), r.samples)
	}
}

// All arms run in each round, and their own turn is behind each as often as behind the others.
func TestRoundsHaveAllOrders(t *testing.T) {
	const rounds = 2000
	var ran []string
	c := &cell{name: "x"}
	for _, a := range []arm{{name: "a"}, {name: "b"}, {name: "c"}} {
		a.run = func(context.Context) (sample, error) {
			ran = append(ran, a.name)
			return sample{tps: 1}, nil
		}
		c.arms = append(c.arms, a)
	}
	b := &bench{opt: options{rounds: rounds}, say: io.Discard}
	if r := b.run(t.Context(), c); r.err != nil || len(ran) != 3*rounds {
		t.Fatalf("%d runs, error %v", len(ran), r.err)
	}
	after := map[string]int{}
	for i := range ran {
		if i%3 == 2 && (ran[i] == ran[i-1] || ran[i] == ran[i-2] || ran[i-1] == ran[i-2]) {
			t.Fatalf("round %d: %v", i/3, ran[i-2:i+1])
		}
		if i%3 == 0 && i > 0 && ran[i] == ran[i-1] {
			after[ran[i]]++
		}
	}
	for _, a := range c.arms {
		if n := after[a.name]; n < rounds/9*8/10 || n > rounds/9*12/10 { // three standard deviations
			t.Errorf("%s has run after itself %d times, not about %d", a.name, n, rounds/9)
		}
	}
}

func TestIdleTargets(t *testing.T) {
	r := &report{idle: &idleResult{before: 20000, fresh: 50000, used: 60000, cpu: true, cpuNone: 10 * time.Millisecond, cpuAll: 20 * time.Millisecond}}
	got := r.idleTargets()
	if got[0].Figure != "40.0 KiB" || got[0].State != "reached" || got[1].Figure != "10 ms in 10s" || got[1].State != "reached" {
		t.Errorf("got %+v", got)
	}
}
