package rewriter

import (
	"maps"
	"sync"
	"sync/atomic"

	"mbusproxy/rewrite/plan"
	"mbusproxy/sqlfuncs"
)

// callCounts counts calls by function. It is safe for concurrent use; nil counts nothing.
type callCounts struct {
	calls map[*sqlfuncs.Func]*outcomes // all of the catalogue; never changed

	mu      sync.Mutex
	refused map[string]uint64 // statements that the proxy has refused, by SQLSTATE
}

// outcomes are how statements with calls of a function have ended.
type outcomes struct{ ok, failed atomic.Uint64 }

func newCallCounts() *callCounts {
	c := &callCounts{calls: make(map[*sqlfuncs.Func]*outcomes), refused: make(map[string]uint64)}
	for _, f := range sqlfuncs.All() {
		c.calls[f] = new(outcomes)
	}
	return c
}

// count counts a statement that has run, or has failed.
func (c *callCounts) count(p *plan.Plan, ok bool) {
	if c == nil {
		return
	}
	if refused := p.Refused(); len(refused) > 0 && !ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.refused[refused[0].Code]++ // all of them the proxy's own, so there are few
		return
	}
	for f := range p.Functions() {
		if o := c.calls[f]; ok && o != nil {
			o.ok.Add(1)
		} else if o != nil {
			o.failed.Add(1)
		}
	}
}

// each gives the numbers for each function that has been called.
func (c *callCounts) each(f func(function string, ok, failed uint64)) {
	for fn, o := range c.calls {
		if ok, failed := o.ok.Load(), o.failed.Load(); ok+failed > 0 {
			f(fn.DisplayName(), ok, failed)
		}
	}
}

// refusals gives how many statements have been refused, by SQLSTATE.
func (c *callCounts) refusals() map[string]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.refused)
}
