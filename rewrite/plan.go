package rewrite

import "mbusproxy/sqlfuncs"

// Plan is a rewritten text. It is immutable and may be shared between sessions.
type Plan struct {
	client   string  // the text as the client sent it
	server   spliced // the text for the server
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
	from, to int // the pieces of the server's
}

// callSite is what a report about a call needs to know of it.
type callSite struct {
	span // in the client's text
	fn   *sqlfuncs.Func
	name string // as called
}

// Signals reports whether the engine wants to know when a transaction that runs the plan has ended.
func (p *Plan) Signals() bool { return p.signals }

// GivesHeaders reports whether a call gives headers to a message, among which consume_after may be.
func (p *Plan) GivesHeaders() bool { return p.headers }

// ownText reports whether a 1-based position lies in text of ours, and for which byte of the client's
// text that stands.
func (p *Plan) ownText(pos int) (in int, own bool) {
	in, copied := p.server.origin(p.enc.byteOffset(p.server.sql, pos))
	return in, !copied
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
	off, _ := p.server.origin(p.enc.byteOffset(p.server.sql, pos))
	return p.enc.charPosition(p.client, min(off, len(p.client)))
}

// Refused returns the refusals of the plan's statements, in the order of the text.
func (p *Plan) Refused() []*Refusal { return p.refusals }

// size is about how many bytes the plan takes.
func (p *Plan) size() int { return len(p.client) + p.server.size() }

// clientText returns the text that the plan is for.
func (p *Plan) clientText() string { return p.client }

// text returns the text for the server, and where its pieces came from.
func (p *Plan) text() spliced { return p.server }
