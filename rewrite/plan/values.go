package plan

import (
	"slices"

	"mbusproxy/rewrite/lex"
)

// Value is what a call gives for a parameter that must be known before the statement runs: a
// literal, a parameter of the protocol's Bind message, or NULL.
type Value struct {
	// Text is what the literal says, in the client's encoding; numbers and booleans are as written.
	// For a parameter that is left out it is the default.
	Text   string
	Param  int // n of $n, whose value Bind gives; 0: none
	Null   bool
	Offset int    // where the argument stands in the client's text, in bytes; where the call does if left out
	Serves string // of a selector: what serves its call, see sqlfuncs.Func; else ""
}

// Given is a Value together with where its text comes from.
type Given struct {
	Value
	// literal is the place of the string or number in the client's text that Text is read from. When
	// it is empty, Text is the same in all texts of the skeleton.
	Literal  lex.Span
	Negative bool // a minus stands before the number
	unread   bool // the literal cannot be read
}

// Selectors returns the selectors that the calls of the plan give, in the order of the text. They
// must have been found good before the plan's text runs. NULLs are left out.
func (p *Plan) Selectors() []Value {
	out := make([]Value, len(p.selectors))
	for i, g := range p.selectors {
		out[i] = p.given[g].Value
	}
	return out
}

// Late reports whether something is left to do when the parameters are known: there are steps, or
// selectors that are parameters.
func (p *Plan) BindTime() bool {
	return len(p.preludes) > 0 || slices.ContainsFunc(p.selectors, func(g int) bool { return p.given[g].Param > 0 })
}

// decode reads the literals of the client's text.
func (p *Plan) decode() {
	for i := range p.given {
		g := &p.given[i]
		if g.Literal == (lex.Span{}) {
			continue
		}
		text, ok := lex.DecodeLiteral(p.client[g.Literal.Start:g.Literal.End], p.enc, p.escapes)
		if g.Negative {
			text = "-" + text
		}
		g.Text, g.unread = text, !ok
	}
}

// Checked returns the plan, or a refusal where a literal cannot be read. It stands behind the cache:
// another text of the same skeleton may be good.
func (p *Plan) Checked() *Plan {
	for _, g := range p.given {
		if g.unread {
			return p.Refuse(g.Offset, Refusal{
				Code:    CodeFeatureNotSupported,
				Message: "an argument that must be known before the statement runs cannot be read",
				Hint:    "Write it as a plain literal without escapes, or give it as a bind parameter.",
			})
		}
	}
	return p
}
