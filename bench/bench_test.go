package main

import (
	"strings"
	"testing"
	"time"
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
	s, err := parseSample(printed)
	if err != nil {
		t.Fatal(err)
	}
	if s.count != 2000 || s.tps != 1000.123456 || len(s.perSec) != 2 || s.perSec[1] != 999.5 {
		t.Errorf("got %+v", s)
	}
}

func TestParseSampleRefuses(t *testing.T) {
	for name, out := range map[string]string{
		"failures":  strings.Replace(printed, "transactions: 0 (", "transactions: 3 (", 1),
		"nothing":   "pgbench: error: connection to server failed\n",
		"no result": strings.Replace(printed, "processed: 2000", "processed: 0", 1),
	} {
		if s, err := parseSample(out); err == nil {
			t.Errorf("%s: got %+v and no error", name, s)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

// The ratio is that of the rounds: here the machine was twice as fast in the second one.
func TestRatios(t *testing.T) {
	r := &result{samples: map[string][]sample{
		"proxy":     {{tps: 90}, {tps: 180}, {tps: 90}},
		"pgbouncer": {{tps: 100}, {tps: 200}, {tps: 100}},
	}}
	if got := median(r.ratios("proxy", "pgbouncer")); got != 0.9 {
		t.Errorf("got %v", got)
	}
}

func TestReportMarksWhatWasMissedAndWhatIsInvalid(t *testing.T) {
	slow := map[string][]sample{"proxy": {{tps: 40}}, "pgbouncer": {{tps: 100}}, handName: {{tps: 100}}, "direct": {{tps: 100}}}
	r := &report{cells: []*result{
		{name: passName("simple", 8), samples: slow},
		{name: queueCellName("consume", 1, "prepared", 8), err: errEmpty},
	}}
	if r.valid() {
		t.Error("a report with an invalid cell passes for valid")
	}
	text := r.markdown()
	for _, want := range []string{
		"| pass-through, simple, 8 clients | at least 0.9 of pgbouncer | 0.400 | **MISSED** |",
		"| consume, 1 at a time, prepared, 8 clients | at least 0.5 of hand-written | - | **INVALID** |",
		"| memory of an idle session | less than 64 KiB | - | not measured |",
		"**INVALID: the queue ran empty**",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
}

func TestIdleTargets(t *testing.T) {
	r := &report{idle: &idleResult{before: 20000, fresh: 50000, used: 60000, cpu: true, cpuNone: 10 * time.Millisecond, cpuAll: 20 * time.Millisecond}}
	got := r.idleTargets()
	if got[0].figure != "40.0 KiB" || got[0].state != "reached" || got[1].figure != "10 ms in 10s" || got[1].state != "reached" {
		t.Errorf("got %+v", got)
	}
}
