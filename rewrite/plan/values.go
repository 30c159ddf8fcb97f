package plan

import (
	"slices"

	"mbusproxy/rewrite/lex"
	"mbusproxy/sqlfuncs"
)

// Value is the value of an argument that must be known before the statement runs: a literal, a parameter of the
// protocol's Bind message, or NULL.
type Value struct {
	// Text is what the literal says, in the client's encoding; numbers and booleans are as written. Where the argument
	// is left out it is the default.
	Text   string
	Param  int  // n of $n, whose value Bind gives; 0: none
	Bare   bool // of a Param among Joined: nothing in the text says that it is a text
	Null   bool
	Offset int    // where the argument stands in the client's text, in bytes; if it is left out, where the call does
	Serves string // of a selector or what is Checked: the Serves of its call's sqlfuncs.Func; else ""
	// Checked is the name of the parameter of a value that is no selector and must be checked as these are; else "".
	Checked string
	// Joined are the values whose texts make up this one, which is null where one of them is: those
	// between ||. nil where there is no ||.
	Joined []Value
	// Expression is what must be evaluated where nothing else gives the value; else nil.
	Expression []ExprPiece
}

// ExprPiece is a piece of an expression of the client's: SQL and behind it a parameter.
type ExprPiece struct {
	SQL   string
	Param int           // n of $n; 0 in the last piece
	Type  sqlfuncs.Type // of the parameter where the expression casts it to one of these types, else Void
}

// Parameters returns the numbers of the parameters on which a value depends.
func (v Value) Parameters() []int {
	var out []int
	if v.Param > 0 {
		out = append(out, v.Param)
	}
	for _, j := range v.Joined {
		out = append(out, j.Parameters()...)
	}
	for _, p := range v.Expression {
		if p.Param > 0 {
			out = append(out, p.Param)
		}
	}
	return out
}

// Given is a Value together with where its text comes from.
type Given struct {
	Value
	// Literal is the place of the string or number in the client's text that Text is read from.
	// Where it is empty, Text is the same for all texts with the skeleton.
	Literal  lex.Span
	Negative bool // a minus stands before the number
	unread   bool // the literal cannot be read

	Parts []Given // of Joined
	// Computed is the place of an expression in the client's text, Params are those of its
	// parameters. They give Expression.
	Computed lex.Span
	Params   []ParamPlace
}

// ParamPlace is a parameter in an expression.
type ParamPlace struct {
	lex.Span
	Number int
	Type   sqlfuncs.Type // see ExprPiece
}

// move moves what is known by its place to another text with the same skeleton.
func (g Given) move(m lex.Mover) Given {
	g.Offset, g.Literal, g.Computed = m.Move(g.Offset), m.MoveSpan(g.Literal), m.MoveSpan(g.Computed)
	parts, params := g.Parts, g.Params
	g.Parts, g.Params = nil, nil
	for _, part := range parts {
		g.Parts = append(g.Parts, part.move(m))
	}
	for _, p := range params {
		p.Span = m.MoveSpan(p.Span)
		g.Params = append(g.Params, p)
	}
	return g
}

// Selectors returns the selectors and what else is Checked among the arguments of the plan's calls,
// in the order of the text, without those that are NULL. They must have been checked before the
// plan's text runs.
func (p *Plan) Selectors() []Value {
	out := make([]Value, len(p.selectors))
	for i, g := range p.selectors {
		out[i] = p.given[g].Value
	}
	return out
}

// Given reports whether something must be known before the plan's text runs: selectors, or what
// prelude statements need.
func (p *Plan) Given() bool { return len(p.given) > 0 }

// BindTime reports whether the plan is a bind-time plan, for which something is left to do when the
// parameters are known: it has prelude statements, a call that waits, or selectors that are
// parameters.
func (p *Plan) BindTime() bool {
	return len(p.preludes) > 0 || p.wait != nil || slices.ContainsFunc(p.selectors, func(g int) bool { return len(p.given[g].Parameters()) > 0 })
}

// decode reads the literals from the client's text.
func (p *Plan) decode() {
	for i := range p.given {
		p.read(&p.given[i])
	}
}

// read reads what an argument holds from the client's text.
func (p *Plan) read(g *Given) {
	g.Joined, g.Expression = nil, nil
	for i := range g.Parts {
		p.read(&g.Parts[i])
		g.Joined = append(g.Joined, g.Parts[i].Value)
		g.unread = g.unread || g.Parts[i].unread
	}
	if g.Computed != (lex.Span{}) {
		pos := g.Computed.Start
		for _, param := range g.Params {
			g.Expression = append(g.Expression, ExprPiece{SQL: p.client[pos:param.Start], Param: param.Number, Type: param.Type})
			pos = param.End
		}
		g.Expression = append(g.Expression, ExprPiece{SQL: p.client[pos:g.Computed.End]})
	}
	if g.Literal == (lex.Span{}) {
		return
	}
	text, ok := lex.DecodeLiteral(p.client[g.Literal.Start:g.Literal.End], p.enc, p.escapes)
	if g.Negative {
		text = "-" + text
	}
	g.Text, g.unread = text, !ok
}

// Checked returns the plan, or one that refuses a statement with a literal that cannot be read.
// What is kept is the plan before the check, since it may be good for another text with the same
// skeleton.
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
