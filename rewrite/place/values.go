package place

import (
	"slices"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"mbusproxy/rewrite/find"
	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

// isExpression reports whether a text is one expression.
func isExpression(text string, parser func(text string) (*pg_query.ParseResult, error)) bool {
	// The line break ends a comment at the end of the text.
	parsed, err := parser("select\n" + text + "\n")
	return err == nil && len(parsed.Stmts) == 1 && tree.IsExpressionOnly(parsed.Stmts[0].Stmt.GetSelectStmt())
}

// condition returns the expression that a call gives for its function's Condition, where that is a literal that can be
// read, else "". The expression may stand in parentheses. The plan is then pinned to the literal.
func (st *statement) condition(c *call) string {
	a, given := c.Args[c.Match.Func.Condition]
	if !given {
		return ""
	}
	g, ok := st.readValue(a, sqlfuncs.Text)
	if !ok || g.Null || g.Literal == (lex.Span{}) {
		return ""
	}
	text, ok := lex.DecodeLiteral(st.src.Text[g.Literal.Start:g.Literal.End], st.src.Enc, st.src.Escapes)
	if !ok || strings.ContainsFunc(text, func(c rune) bool { return c >= 0x80 || c == '\\' || c == 0 }) {
		return "" // rare; the server reads the literal when the statement runs
	}
	if !isExpression(text, st.parse) {
		return "" // the server says what is wrong with it when the statement runs
	}
	st.plan.Pin(g.Literal.Start + 1)
	return text + "\n"
}

// readValues reads those arguments of the call whose values must be known before the statement runs.
func (st *statement) readValues(c *call) *plan.Refusal {
	f := c.Match.Func
	waits := c.waits()
	for i, p := range f.Params {
		if !f.Prelude && f.Selector != p.Name && !slices.Contains(f.Checked, p.Name) && !waits {
			continue
		}
		g := plan.Given{Value: plan.Value{Offset: c.Start, Text: p.Default, Null: p.Default == ""}}
		if a, ok := c.Args[p.Name]; ok {
			if g, ok = st.readArgument(a, p); !ok {
				r := refuseValue(c, p, a.Start)
				if !st.bound && tree.Has(isParameter, a.Node) {
					r.Detail = "Parameters of this statement are known only when it is executed."
				}
				return r
			}
		} else if i < f.Implied {
			g.Text, g.Null = c.Match.Readings[0][i], false
		}
		if c.values == nil {
			c.values = map[string]plan.Given{}
		}
		c.values[p.Name] = g
	}
	return nil
}

// readArgument reads an argument that is a value, or is made up of values, or that the prelude statement can evaluate.
func (st *statement) readArgument(a find.Argument, p sqlfuncs.Param) (plan.Given, bool) {
	g, ok := st.readValue(a, p.Type)
	if !ok && p.Type == sqlfuncs.Text {
		g, ok = st.readJoined(a)
	}
	if !ok && p.Computed {
		g, ok = st.readComputed(a)
	}
	return g, ok
}

// readJoined reads an argument that is texts and parameters with || between them.
func (st *statement) readJoined(a find.Argument) (plan.Given, bool) {
	g := plan.Given{Value: plan.Value{Offset: a.Start}}
	n := a.Node
	for tc := n.GetTypeCast(); tc != nil && castKeeps(tc.TypeName, sqlfuncs.Text); tc = n.GetTypeCast() {
		n = tc.Arg
	}
	x := n.GetAExpr()
	if x == nil || x.Kind != pg_query.A_Expr_Kind_AEXPR_OP || len(x.Name) != 1 || tree.NameOf(x.Name[0]) != "||" || x.Lexpr == nil {
		return g, false
	}
	for _, side := range []*pg_query.Node{x.Lexpr, x.Rexpr} {
		part := find.Argument{Span: a.Span, Node: side}
		value, ok := st.readValue(part, sqlfuncs.Text)
		if !ok {
			value, ok = st.readJoined(part)
		} else if value.Param == 0 && !value.Null && !isText(side) {
			ok = false // the server may write a number in another way
		}
		if !ok {
			return g, false
		}
		value.Bare = value.Param > 0 && side.GetTypeCast() == nil
		g.Parts = append(g.Parts, value)
	}
	return g, true
}

// isText reports whether a literal with casts is a string.
func isText(n *pg_query.Node) bool {
	for tc := n.GetTypeCast(); tc != nil; tc = n.GetTypeCast() {
		n = tc.Arg
	}
	return n.GetAConst().GetSval() != nil
}

// readComputed reads an argument that must be evaluated.
func (st *statement) readComputed(a find.Argument) (plan.Given, bool) {
	g := plan.Given{Value: plan.Value{Offset: a.Start}, Computed: a.Span}
	if len(st.below(a.Node.ProtoReflect())) > 0 || tree.Has(isParameter, a.Node) && !st.bound {
		return g, false
	}
	casts := map[int32]sqlfuncs.Type{} // by the parameter's place
	tree.Walk(a.Node.ProtoReflect(), func(m protoreflect.Message) bool {
		if tc, ok := m.Interface().(*pg_query.TypeCast); ok && tc.Arg.GetParamRef() != nil {
			for _, t := range []sqlfuncs.Type{sqlfuncs.Text, sqlfuncs.Boolean, sqlfuncs.Integer, sqlfuncs.BigInt} {
				if castKeeps(tc.TypeName, t) {
					casts[tc.Arg.GetParamRef().Location] = t
				}
			}
		}
		return true
	})
	s := st.src
	for i := s.At(a.Start); i < s.From(a.End); i++ {
		if s.Kind(i) == pg_query.Token_PARAM {
			n, err := strconv.Atoi(s.Text[s.Toks[i].Start+1 : s.Toks[i].End])
			if err != nil || n == 0 {
				return g, false
			}
			g.Params = append(g.Params, plan.ParamPlace{Span: s.Span(i, i+1), Number: n, Type: casts[int32(s.Toks[i].Start)]})
		}
	}
	return g, true
}

func isParameter(n any) bool { _, ok := n.(*pg_query.ParamRef); return ok }

// readValue reads an argument that is a literal or a parameter of the protocol, perhaps with casts that change nothing
// about it. It returns false for anything else.
func (st *statement) readValue(a find.Argument, t sqlfuncs.Type) (plan.Given, bool) {
	g := plan.Given{Value: plan.Value{Offset: a.Start}}
	n, fits := a.Node, true
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
	i := s.At(int(k.Location))
	if k.GetSval() == nil && s.Kind(i) == tree.TokMinus {
		g.Negative = true
		i++
	}
	end := i + 1
	if s.Kind(end) == pg_query.Token_UESCAPE {
		end += 2
	}
	g.Literal = s.Span(i, end)
	return g, true
}

// castKeeps reports whether a cast to that type leaves a literal for a parameter of type t as it is.
func castKeeps(tn *pg_query.TypeName, t sqlfuncs.Type) bool {
	if tn.Setof || tn.PctType || len(tn.Typmods) > 0 || len(tn.ArrayBounds) > 0 {
		return false
	}
	names := tn.Names
	if len(names) == 2 && tree.NameOf(names[0]) == "pg_catalog" {
		names = names[1:]
	}
	if len(names) != 1 {
		return false
	}
	switch name := tree.NameOf(names[0]); t {
	case sqlfuncs.Text:
		return name == "text" || name == "varchar"
	case sqlfuncs.Boolean:
		return name == "bool"
	case sqlfuncs.Integer:
		return name == "int4"
	case sqlfuncs.BigInt:
		return name == "int8"
	case sqlfuncs.Interval:
		return name == "interval"
	}
	return false
}

// keepValues gives the plan what readValues has read, when all calls are placed. stmt is the statement's number in the
// text.
func (st *statement) keepValues(stmt int) {
	for _, c := range st.calls {
		f := c.Match.Func
		if g, ok := c.values[f.Selector]; ok && !g.Null {
			g.Serves = f.Serves
			st.plan.AddSelector(g)
		}
		if c.waits() {
			st.plan.AddWait(c.number, c.values)
		}
		for _, param := range f.Checked {
			if g := c.values[param]; !g.Null {
				g.Serves, g.Checked = f.Serves, param
				st.plan.AddSelector(g)
			}
		}
		if !f.Prelude {
			continue
		}
		guard := ""
		if c.guarded {
			guard = st.guard(c)
		}
		st.plan.AddPrelude(c.number, stmt, guard, c.values)
	}
}
