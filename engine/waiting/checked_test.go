package waiting

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"mbusproxy/engine/internal/statespace"
)

const (
	mostStates  = 8_000_000
	doesNotCome = "does not come"
	doesNotRest = "does not rest"
	notTheFirst = "before the first of the line"
	sizeSmall   = iota // it is also run with the race detector
	sizeUsual          // without
	sizeLarge          // with MBUS_LONG=1
)

// check reaches all states of the machine, and gives the first thing found that must not be.
func (m *machine) check(t *testing.T) *statespace.Counterexample {
	t.Helper()
	began := time.Now()
	space := statespace.Explore(state{}, mostStates, m.next)
	states, steps := space.Size()
	t.Logf("%s: %d states, %d steps, %v", t.Name(), states, steps, time.Since(began).Round(time.Millisecond))
	if c := space.Wrong(); c != nil {
		return c
	}
	if c := space.Always(m.broken); c != nil {
		return c
	}
	for i := range m.messages {
		if c := space.Comes(fmt.Sprint("message ", i), func(s state) bool { return m.owed(s, i) }); c != nil {
			return c
		}
	}
	return space.Rests()
}

// apart has a call at each of two proxies.
var apart = [mostCalls]int{0, 1}

// TestWaitingChecked holds all that can happen to what is promised: whatever can be delivered comes
// to somebody who waits for it, by what the proxies do by themselves; the first of a line is woken
// first; what is held, delayed or gone makes nobody look for ever. docs/waiting-model.md says what
// the machine is.
func TestWaitingChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size int
		machine
	}{
		"delays and cancels":          {sizeUsual, machine{calls: 2, messages: 1, proxies: 1, cancels: true, sweeps: true, delays: true}},
		"posts past, lost, failed":    {sizeUsual, machine{calls: 2, messages: 1, proxies: 1, past: true, loses: true, fails: true, sweeps: true, splits: true}},
		"two delays, quiet":           {sizeUsual, machine{calls: 2, messages: 2, proxies: 1, delays: true, sweeps: true, closes: true, quiet: true}},
		"two delays":                  {sizeLarge, machine{calls: 2, messages: 2, proxies: 1, delays: true, sweeps: true, closes: true}},
		"two messages, cancels":       {sizeLarge, machine{calls: 2, messages: 2, proxies: 1, cancels: true, sweeps: true}},
		"held":                        {sizeUsual, machine{calls: 2, messages: 2, proxies: 1, past: true, sweeps: true}},
		"held, quiet":                 {sizeUsual, machine{calls: 2, messages: 2, proxies: 1, past: true, sweeps: true, quiet: true}},
		"three calls, quiet":          {sizeSmall, machine{calls: 3, messages: 1, proxies: 1, sweeps: true, quiet: true}},
		"two lines, quiet":            {sizeUsual, machine{calls: 2, messages: 2, proxies: 1, line: apart, of: [mostMessages]int{0, 1}, delays: true, sweeps: true, closes: true, quiet: true}},
		"two lines, unnamed, quiet":   {sizeUsual, machine{calls: 2, messages: 2, proxies: 1, line: apart, of: [mostMessages]int{0, 1}, delays: true, sweeps: true, closes: true, quiet: true, unnamed: true}},
		"two lines, two proxies":      {sizeLarge, machine{calls: 2, messages: 2, proxies: 2, proxy: apart, line: apart, of: [mostMessages]int{0, 1}, quiet: true}},
		"two lines, no sweeps":        {sizeUsual, machine{calls: 2, messages: 2, proxies: 1, line: apart, of: [mostMessages]int{0, 1}}},
		"two lines":                   {sizeLarge, machine{calls: 2, messages: 2, proxies: 1, line: apart, of: [mostMessages]int{0, 1}, delays: true, sweeps: true, closes: true}},
		"selective":                   {sizeUsual, machine{calls: 2, messages: 2, proxies: 1, selective: true, wants: [mostCalls]uint8{1, 3}, sweeps: true}},
		"selective delays":            {sizeSmall, machine{calls: 2, messages: 1, proxies: 1, selective: true, wants: [mostCalls]uint8{0, 1}, delays: true, sweeps: true}},
		"two proxies, told, quiet":    {sizeUsual, machine{calls: 2, messages: 1, proxies: 2, proxy: apart, quiet: true}},
		"two proxies, told":           {sizeLarge, machine{calls: 2, messages: 1, proxies: 2, proxy: apart}},
		"two proxies, untold, quiet":  {sizeLarge, machine{calls: 2, messages: 1, proxies: 2, proxy: apart, lossy: true, sweeps: true, quiet: true}},
		"two proxies, untold, a call": {sizeUsual, machine{calls: 1, messages: 1, proxies: 2, lossy: true, sweeps: true, splits: true}},
		"two proxies, untold":         {sizeLarge, machine{calls: 2, messages: 1, proxies: 2, proxy: apart, lossy: true, sweeps: true}},
		"three calls":                 {sizeSmall, machine{calls: 3, messages: 1, proxies: 1, sweeps: true}},
		"a proxy crashes":             {sizeLarge, machine{calls: 2, messages: 1, proxies: 2, proxy: apart, sweeps: true, crashes: true, quiet: true}},
		"three calls, cancels":        {sizeLarge, machine{calls: 3, messages: 1, proxies: 1, cancels: true}},
		"three calls, two":            {sizeLarge, machine{calls: 3, messages: 2, proxies: 1, sweeps: true, closes: true, quiet: true}},
		"all with one message":        {sizeLarge, machine{calls: 2, messages: 1, proxies: 1, cancels: true, past: true, loses: true, fails: true, sweeps: true, splits: true, closes: true, delays: true, quiet: true}},
		"two proxies, three calls":    {sizeLarge, machine{calls: 3, messages: 1, proxies: 2, proxy: [mostCalls]int{0, 0, 1}, quiet: true}},
	} {
		if c.size == sizeUsual && raced || c.size == sizeLarge && (raced || os.Getenv("MBUS_LONG") == "") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c := c.check(t); c != nil {
				t.Error(c)
			}
		})
	}
}

// TestWaitingMutations: the check finds mistakes, of all kinds that it is for.
func TestWaitingMutations(t *testing.T) {
	t.Parallel()
	one := machine{calls: 2, messages: 1, proxies: 1}
	past, cancelled, delayed := one, one, one
	past.past, past.sweeps = true, true
	cancelled.cancels = true
	delayed.calls, delayed.delays, delayed.sweeps, delayed.closes = 1, true, true, true
	lines := machine{calls: 2, messages: 1, proxies: 1, line: apart, delays: true, sweeps: true}
	told := machine{calls: 1, messages: 1, proxies: 2, proxy: apart}
	lost := told
	lost.lossy = true
	due := one
	due.delays, due.sweeps = true, true
	unasked := machine{calls: 1, messages: 2, proxies: 1, delays: true, takes: true, sweeps: true}
	left := machine{calls: 3, messages: 2, proxies: 1, quiet: true}
	taken := machine{calls: 2, messages: 2, proxies: 2, takes: true, quiet: true}
	for name, c := range map[string]struct {
		machine
		mutation
		want string // "": nothing is found
	}{
		"a place forgets the version":           {taken, forgetsVersion, doesNotCome},
		"a turn is not handed on":               {cancelled, keepsTurn, doesNotCome},
		"a look does not count":                 {taken, asksQuietly, doesNotCome},
		"every look counts":                     {past, asksLoudly, doesNotRest},
		"a delay is forgotten":                  {delayed, forgetsDelay, doesNotCome},
		"delays of a new line are not asked":    {lines, forgetsNew, doesNotCome},
		"delays of an empty line are forgotten": {unasked, forgetsUnasked, doesNotCome},
		"due during a look":                     {due, forgetsAgain, doesNotCome},
		"who left is taken for counted":         {left, forgetsServed, doesNotCome},
		"nobody notes the end of a transaction": {one, silent, doesNotCome},
		"the last is woken first":               {one, wakesLast, notTheFirst},
		"notifications are lost without sweeps": {lost, none, doesNotCome},
		"posts past the proxies without sweeps": {machine{calls: 1, messages: 1, proxies: 1, past: true}, none, doesNotCome},
		"another queue is named":                {machine{calls: 2, messages: 1, proxies: 1, line: apart}, namesOther, doesNotCome},
		"none":                                  {told, none, ""},
	} {
		if raced && (c.machine == taken || c.machine == left) {
			continue // they have many states
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := c.machine
			m.mutation = c.mutation
			switch got := m.check(t); {
			case got == nil && c.want != "":
				t.Error("nothing is found")
			case got != nil && (c.want == "" || !strings.Contains(got.What, c.want)):
				t.Error(got)
			case got != nil:
				t.Log(got)
			}
		})
	}
}
