package plan

import (
	"slices"

	"mbusproxy/rewrite/lex"
)

// Value is the value of an argument that must be known before the statement runs: a literal, a parameter of the
// protocol's Bind message, or NULL.
type Value struct {
	// Text is what the literal says, in the client's encoding; numbers and booleans are as written. Where the argument
	// is left out it is the default.
	Text   string
	Param  int // n of $n, whose value Bind gives; 0: none
	Null   bool
	Offset int    // where the argument stands in the client's text, in bytes; if it is left out, where the call does
	Serves string // of a selector: the Serves of its call's sqlfuncs.Func; else ""
}

// Given is a Value together with where its text comes from.
type Given struct {
	Value
	// Literal is the place of the string or number in the client's text that Text is read from. Where it is empty, Text is
	// the same for all texts with the skeleton.
	Literal  lex.Span
	Negative bool // a minus stands before the number
	unread   bool // the literal cannot be read
}

// Selectors returns the selectors among the arguments of the plan's calls, in the order of the text, without those that are
// NULL. They must have been checked before the plan's text runs.
func (p *Plan) Selectors() []Value {
	out := make([]Value, len(p.selectors))
	for i, g := range p.selectors {
		out[i] = p.given[g].Value
	}
	return out
}

// BindTime reports whether the plan is a bind-time plan, for which something is left to do when the parameters are known:
// it has prelude statements, or selectors that are parameters.
func (p *Plan) BindTime() bool {
	return len(p.preludes) > 0 || slices.ContainsFunc(p.selectors, func(g int) bool { return p.given[g].Param > 0 })
}

// decode reads the literals from the client's text.
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

// Checked returns the plan, or one that refuses a statement with a literal that cannot be read. What is kept is the plan
// before the check, since it may be good for another text with the same skeleton.
func (p *Plan) Checked() *Plan {
	for _, g := range p.given {
		if g.unread {
			return p.Refuse(g.Offset, Refusal{
				Code:    codeFeatureNotSupported,
				Message: "an argument that must be known before the statement runs cannot be read",
				Hint:    "Write it as a plain literal without escapes, or give it as a bind parameter.",
			})
		}
	}
	return p
}
