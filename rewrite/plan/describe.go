package plan

import (
	"cmp"
	"slices"

	"mbusproxy/rewrite/lex"
	"mbusproxy/sqlfuncs"
)

// Call is a call that a plan serves, for showing it to people.
type Call struct {
	lex.Span // in the client's text
	Func     *sqlfuncs.Func
	Name     string // as called, folded to lower case
}

// Calls returns the calls of the text, in its order. Of equal calls that share a number only one is
// there. In a statement that is refused some may be missing.
func (p *Plan) Calls() []Call {
	out := make([]Call, len(p.calls))
	for i, c := range p.calls {
		out[i] = Call{Span: c.Span, Func: c.fn, Name: c.name}
	}
	slices.SortFunc(out, func(a, b Call) int { return cmp.Compare(a.Start, b.Start) })
	return out
}

// IsForwarded reports whether the text for the server is the client's own; see ForwardBody.
func (p *Plan) IsForwarded() bool { return p.forwarded }
