package rewrite

import "sort"

// Plan is a rewritten text. It is immutable and may be shared between sessions.
type Plan struct {
	client   string // the text as the client sent it
	sql      string // the text for the server
	segs     []segment
	enc      encodingKind
	escapes  bool // a backslash escapes in plain strings
	calls    []callSite
	refusals []*Refusal
	headers  bool
	// relations are the client's own that a refusal of rights must not be taken to be about the schema's.
	relations []string
	signals   bool   // a call's Func.Signals
	stepCall  int    // with steps in the text: the number of the first call that has one
	blocks    bool   // the client's text has DO blocks of its own
	tag       string // see Tag
	pins      []int  // where numbers stand in the client's text whose values the plan depends on

	given     []given    // what must be known before the text runs
	selectors []int      // of given
	steps     []stepCall // in the order of the text
	stmts     []piece    // the statements that are not empty; only where something is given
	hidden    []int      // which statements of sql are steps
	step      int        // number of the call whose step sql is; 0: it is none
	secret    string     // of the session; "" while the plan belongs to none
}

// piece is where a statement stands.
type piece struct {
	span         // in the client's text
	from, to int // segs[from:to] in the server's
}

// callSite is what a report about a call needs to know of it.
type callSite struct {
	span             // in the client's text
	kind      string // function or procedure
	name      string // as called
	signature string
	set       bool // it yields a set
}

// startOf returns where segment i starts in the server's text.
func (p *Plan) startOf(i int) int {
	if i == len(p.segs) {
		return len(p.sql)
	}
	return p.segs[i].out
}

// clientOffset maps a byte offset in the server's text to one in the client's.
func (p *Plan) clientOffset(off int) int {
	i := sort.Search(len(p.segs), func(i int) bool { return p.segs[i].out > off }) - 1
	if i < 0 {
		return 0
	}
	s := p.segs[i]
	if s.copy {
		return min(s.in+off-s.out, len(p.client))
	}
	return s.in
}

// Signals reports whether the engine wants to know when a transaction that runs the plan has ended.
func (p *Plan) Signals() bool { return p.signals }

// GivesHeaders reports whether a call gives headers to a message, among which consume_after may be.
func (p *Plan) GivesHeaders() bool { return p.headers }

// ownText reports whether a 1-based position lies in text of ours, and for which byte of the client's
// text that stands.
func (p *Plan) ownText(pos int) (in int, own bool) {
	off := p.enc.byteOffset(p.sql, pos)
	i := sort.Search(len(p.segs), func(i int) bool { return p.segs[i].out > off }) - 1
	if i < 0 || p.segs[i].copy {
		return 0, false
	}
	return p.segs[i].in, true
}

// callAround returns the innermost call around a byte of the client's text, or nil.
func (p *Plan) callAround(in int) *callSite {
	var found *callSite
	for i := range p.calls {
		c := &p.calls[i]
		if c.start <= in && in < c.end && (found == nil || c.start >= found.start) {
			found = c
		}
	}
	return found
}

// clientPosition maps a 1-based character position, as in the field P of an ErrorResponse.
func (p *Plan) clientPosition(pos int) int {
	off := p.clientOffset(p.enc.byteOffset(p.sql, pos))
	return p.enc.charPosition(p.client, off)
}

// Refused returns the first refusal of a statement of the plan, or nil.
func (p *Plan) Refused() *Refusal {
	if len(p.refusals) == 0 {
		return nil
	}
	return p.refusals[0]
}
