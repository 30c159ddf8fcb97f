package pipeline

import (
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
)

// What a session does, for people who look at it from outside. The directions note only what costs
// next to nothing; words are made by who looks.

// Session is what can be told of a session while it runs.
type Session struct {
	// Call is Labeled.Label of the statement that the server runs, or that waits; in a transaction
	// block of the last one that it has run. "" where that calls nothing.
	Call string
	// Held is how many messages the open transaction has taken; less than 0: it is not known.
	Held int64
}

// Look tells of the session. It may be called from anywhere, once the session has begun.
func (f *Flows) Look() Session {
	s := Session{Held: f.Down.held.Shown()}
	if w := f.Up.waits.Load(); w != nil {
		s.Call = labelOf(w.wait)
		return s
	}
	d := f.Down.current.Load()
	if d == nil {
		return s
	}
	plan := d.plan
	if plan == nil {
		plan = f.Down.names.Labeled(&d.Use)
	}
	s.Call = labelOf(plan)
	return s
}

func labelOf(of any) string {
	if l, ok := of.(statements.Labeled); ok {
		return l.Label()
	}
	return ""
}

// publish notes the request that the server is answering, for Flows.Look. The details of one do not change any more.
func (t *tracker) publish() {
	h := t.head()
	var d *details
	switch {
	case h == nil && t.Txn != 'I', h != nil && h.kind == requests.Sync: // what ran last goes on being shown
		return
	case h == nil:
	case h.hidden && (h.details == nil || h.details.plan == nil), h.kind == requests.Close && !h.hidden:
		return
	case h.kind == requests.Query, h.kind == requests.Parse:
		if h.details != nil && h.details.plan != nil {
			d = h.details
		}
	case h.kind != requests.FunctionCall:
		d = h.details
	}
	if t.current.Load() != d {
		t.current.Store(d)
	}
}
