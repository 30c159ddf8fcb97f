package rewrite

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/sqlfuncs"
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

// given is a Value together with where its text comes from.
type given struct {
	Value
	// literal is the place of the string or number in the client's text that Text is read from. When
	// it is empty, Text is the same in all texts of the skeleton.
	literal  span
	negative bool // a minus stands before the number
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
func (p *Plan) Late() bool {
	return len(p.steps) > 0 || slices.ContainsFunc(p.selectors, func(g int) bool { return p.given[g].Param > 0 })
}

// decode reads the literals of the client's text.
func (p *Plan) decode() {
	for i := range p.given {
		g := &p.given[i]
		if g.literal == (span{}) {
			continue
		}
		text, ok := decodeLiteral(p.client[g.literal.start:g.literal.end], p.enc, p.escapes)
		if g.negative {
			text = "-" + text
		}
		g.Text, g.unread = text, !ok
	}
}

// checked returns the plan, or a refusal where a literal cannot be read. It stands behind the cache:
// another text of the same skeleton may be good.
func (p *Plan) checked() *Plan {
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

// readValues finds what must be known of the call's arguments before the statement runs.
func (st *statement) readValues(c *call) *Refusal {
	f := c.match.Func
	for i, p := range f.Params {
		if !f.Step && f.Selector != p.Name {
			continue
		}
		g := given{Value: Value{Offset: c.start, Text: p.Default, Null: p.Default == ""}}
		if a, ok := c.args[p.Name]; ok {
			if g, ok = st.readValue(a, p.Type); !ok {
				r := refuseValue(c, p, a.start)
				if !st.bound && g.Param > 0 {
					r.Detail = "Parameters of this statement are known only when it is executed."
				}
				return r
			}
		} else if i < f.Implied {
			g.Text, g.Null = c.match.Readings[0][i], false
		}
		if c.values == nil {
			c.values = map[string]given{}
		}
		c.values[p.Name] = g
	}
	return nil
}

// readValue reads an argument that is a literal or a parameter, with or without casts that change
// nothing about it. It returns false for anything else.
func (st *statement) readValue(a argument, t sqlfuncs.Type) (given, bool) {
	g := given{Value: Value{Offset: a.start}}
	n, fits := a.node, true
	for tc := n.GetTypeCast(); tc != nil; tc = n.GetTypeCast() {
		fits = fits && castKeeps(tc.TypeName, t)
		n = tc.Arg
	}
	if k := n.GetAConst(); k != nil && k.Isnull {
		g.Null = true
		return g, true
	}
	if !fits {
		return g, false
	}
	if p := n.GetParamRef(); p != nil {
		g.Param = int(p.Number)
		return g, st.bound && p.Number > 0
	}
	k := n.GetAConst()
	isInt := t == sqlfuncs.Integer || t == sqlfuncs.BigInt
	switch {
	case isInt && (k.GetBoolval() != nil || k.GetFval() != nil):
		return g, false // true::int is 1, 1.5::int is 2
	case k.GetBoolval() != nil:
		g.Text = "false"
		if k.GetBoolval().Boolval {
			g.Text = "true"
		}
		return g, true
	case k.GetSval() != nil:
	case k.GetIval() != nil || k.GetFval() != nil:
		if t == sqlfuncs.Boolean {
			return g, false // 2::boolean is true, '2'::boolean an error
		}
	default:
		return g, false
	}
	s := st.src
	i := s.at(int(k.Location))
	if k.GetSval() == nil && s.kind(i) == tokMinus {
		g.negative = true
		i++
	}
	end := i + 1
	if s.kind(end) == pg_query.Token_UESCAPE {
		end += 2
	}
	g.literal = s.tokens(i, end)
	return g, true
}

// castKeeps reports whether a cast to that type keeps what a literal says, given that the parameter
// is of type t.
func castKeeps(tn *pg_query.TypeName, t sqlfuncs.Type) bool {
	if tn.Setof || tn.PctType || len(tn.Typmods) > 0 || len(tn.ArrayBounds) > 0 {
		return false
	}
	names := tn.Names
	if len(names) == 2 && nameOf(names[0]) == "pg_catalog" {
		names = names[1:]
	}
	if len(names) != 1 {
		return false
	}
	switch name := nameOf(names[0]); t {
	case sqlfuncs.Text:
		return name == "text" || name == "varchar"
	case sqlfuncs.Boolean:
		return name == "bool"
	case sqlfuncs.Integer:
		return name == "int4"
	case sqlfuncs.BigInt:
		return name == "int8"
	}
	return false
}

// bindsParameters reports whether $n in a statement is a parameter of the protocol.
func bindsParameters(stmt *pg_query.Node) bool {
	switch stmt.Node.(type) {
	case *pg_query.Node_SelectStmt, *pg_query.Node_InsertStmt, *pg_query.Node_UpdateStmt, *pg_query.Node_DeleteStmt,
		*pg_query.Node_MergeStmt, *pg_query.Node_CallStmt, *pg_query.Node_ExplainStmt, *pg_query.Node_CreateTableAsStmt, *pg_query.Node_DeclareCursorStmt:
		return true
	}
	return false
}

// keepValues hands what was read of the statement's calls to the plan, when all are placed. stmt is
// the statement's number in the text.
func (st *statement) keepValues(stmt int) {
	for _, c := range st.calls {
		f := c.match.Func
		if g, ok := c.values[f.Selector]; ok && !g.Null {
			g.Serves = f.Serves
			st.plan.addSelector(g)
		}
		if !f.Step {
			continue
		}
		guard := ""
		if c.guarded {
			guard = st.guard(c)
		}
		st.plan.addStep(c.number, stmt, guard, c.values)
	}
}
