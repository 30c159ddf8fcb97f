package waiting

import (
	"cmp"
	"slices"
	"time"
)

// Calls are calls that wait for messages of the same consumer.
type Calls struct {
	// Queue and Consumer are "" of calls that wait for one message each, whatever consumer has it.
	Queue, Consumer string
	Waiting         int
	Since           time.Time // when the first of them began to wait
}

// Calls returns those who wait, the most of them first.
func (l *Lines) Calls() []Calls {
	type consumer struct{ queue, name string }
	of := map[consumer]*Calls{}
	l.mu.Lock()
	for key, line := range l.lines {
		if len(line.idle) == 0 {
			continue
		}
		c := of[consumer{key.Queue, key.Consumer}]
		if c == nil {
			c = &Calls{Queue: key.Queue, Consumer: key.Consumer, Since: line.idle[0].joined}
			of[consumer{key.Queue, key.Consumer}] = c
		}
		c.Waiting += len(line.idle)
		if first := line.idle[0].joined; first.Before(c.Since) {
			c.Since = first
		}
	}
	l.mu.Unlock()
	out := make([]Calls, 0, len(of))
	for _, c := range of {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Calls) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Consumer, b.Consumer))
	})
	return out
}
