package main

import (
	"strings"
	"testing"
)

// What is to be reached is told of the first minute and the last, and of PgQ in the last.
func TestReached(t *testing.T) {
	t.Parallel()
	at := func(bus, pgq int64) minute { return minute{bus: flow{bus, bus}, pgq: flow{pgq, pgq}, dead: 7} }
	for _, c := range []struct {
		first, last minute
		want        bool
		shows       string
	}{
		{at(6000, 6000), at(6000, 6000), true, "| consumed in the last minute, of the first | 0.9 | 1.00 |"},
		{at(6000, 6000), at(5340, 3000), false, "| consumed in the last minute, of the first | 0.9 | 0.89 |"},
		{at(6000, 6000), at(6000, 6600), false, "| consumed in the last minute, of PgQ's | 1.0 | 0.91 |"},
		{at(6000, 0), at(6000, 0), true, "| 2 | 100 | 100 | 7 | 0 | 0 |"},
	} {
		r := &report{opt: options{minutes: 2}, minutes: []minute{c.first, c.last}}
		if got := r.reached(); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
		if text := r.markdown(); !strings.Contains(text, c.shows) {
			t.Errorf("%q is not in\n%s", c.shows, text)
		}
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-minutes", "0"}, {"more"}, {"-only", "("}} {
		if _, err := parseFlags(args); err == nil {
			t.Errorf("%q are taken", args)
		}
	}
}
