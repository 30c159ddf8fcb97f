package main

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// times makes samples with rates that are so many times those of a base that changes from round to round.
func times(factor float64) []sample {
	var out []sample
	for i := range 7 {
		out = append(out, sample{rate: factor * float64(100+10*(i%3)), p99: time.Duration(float64(time.Millisecond) / factor)})
	}
	return out
}

func callNamed(t *testing.T, name string) *call {
	t.Helper()
	for _, c := range calls() {
		if c.name == name {
			return c
		}
	}
	t.Fatalf("no call %s", name)
	return nil
}

func TestReport(t *testing.T) {
	t.Parallel()
	all := states()
	r := &report{opt: options{size: 1, length: time.Second, rounds: 7, steep: 2}}
	add := func(s *state, m moment, queue, name string, factor float64) *result {
		x := &result{state: s, size: s.full, moment: m, target: target{callNamed(t, name), queue}, clean: times(1), then: times(factor)}
		r.results = append(r.results, x)
		return x
	}
	by := map[string]*state{}
	for _, s := range all {
		by[s.name] = s
	}
	add(by["waiting for one"], analyzed, other, "consume", 0.005)
	add(by["waiting for one"], notAnalyzed, other, "consume", 1)
	add(by["delayed"], notAnalyzed, own, "consume", 0.9)
	add(by["consumers"], notAnalyzed, own, "post", 0.01) // its own work
	steep := r.steepest()
	if len(steep) != 2 || steep[0].name() != "waiting for one/analyzed/other/consume" || steep[1].name() != "delayed/not analyzed/own/consume" {
		t.Errorf("steepest are %v", steep)
	}
	r.curves = []*curve{{worst: steep[1], points: []*result{steep[1]}}}
	if !r.valid() {
		t.Error("not valid")
	}
	text := r.markdown()
	for _, want := range []string{
		"| 200,000 messages wait for one iid | consume, analyzed | 0.6 | **0.0050 (0.0050 to 0.0050)** |  |  |  |  |  |",
		"| 10,000,000 messages that are due later |  |  |  | consume, not analyzed | 99 | 0.90 (0.90 to 0.90) |  |  |",
		"| 2,000 consumers on a queue |  |  |  |  |  |  | post: more copies, not analyzed | 0.010 (0.010 to 0.010) |",
		"| other | consume | 110 | 1.00 (1.00 to 1.00) ¦ 1.00 | 0.0050 (0.0050 to 0.0050) ¦ 200 |  |  |",
		"  10,000,000  ######################################################             99/s  0.90\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	if text != r.markdown() {
		t.Error("two reports of the same figures differ")
	}
	r.results[0].err = errors.New("it failed")
	if r.valid() {
		t.Error("valid with a call that failed")
	}
}

// A state's own calls are calls that there are, and so is what has more to do.
func TestStatesNameCalls(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, s := range states() {
		if names[s.name] {
			t.Errorf("two states are called %s", s.name)
		}
		names[s.name] = true
		for _, name := range s.own {
			callNamed(t, name)
		}
		for name := range s.work {
			callNamed(t, name)
		}
	}
}

func TestSized(t *testing.T) {
	t.Parallel()
	s := &state{full: 50}
	for size, want := range map[float64]int{1: 50, 0.1: 5, 0.001: 1} {
		if got := s.sized(size); got != want {
			t.Errorf("at %v there are %d, want %d", size, got, want)
		}
	}
}
