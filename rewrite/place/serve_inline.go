package place

import (
	"strconv"

	"mbusproxy/rewrite/find"
	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
	"mbusproxy/sqlfuncs"
)

// Fragments has the SQL of the functions. Package engine/calls implements it.
type Fragments interface {
	Fragment(f *sqlfuncs.Func, use sqlfuncs.Use, names sqlfuncs.Names) sqlfuncs.Fragment
	// Shape returns what must be known of a Fragment before it is made.
	Shape(f *sqlfuncs.Func, use sqlfuncs.Use) sqlfuncs.Shape
	// ImpliedArgs returns the values of the implied parameters of a call by the name of a family,
	// such as consume_a_by_b: an expression for each. Where the name can be read in several ways,
	// the database decides. mark is sqlfuncs.Names.Mark.
	ImpliedArgs(m sqlfuncs.Match, mark string) []string
	// Guard returns an expression for a call without the schema: it is true, or fails where the call no longer means a
	// function of ours. The arguments are those of a detect.Candidate; mark is sqlfuncs.Names.Mark.
	Guard(name string, args int, named []string, mark string) string
}

// placeOnce serves a call that is evaluated once: WITH queries do the work, and a reference to
// their result stands where the call stood.
func (st *statement) placeOnce(c *call, ctx context) *plan.Refusal {
	if st.rows != nil {
		return st.placeInRow(c, ctx)
	}
	if st.many {
		return st.placeInSet(c, ctx)
	}
	c.srf, c.maySkip = c.Match.Func.Set || st.takesSet(c), len(ctx.guards) > 0
	c.once = !c.maySkip && !st.takesSet(c)
	name := st.number(c)
	ctx.point.add(func(o *splice.Output) {
		st.writeArgs(o, c, name, func(o *splice.Output) {
			o.Write("1::bigint", c.Start)
			for _, p := range c.arguments() {
				o.Write(", ", c.Start)
				st.writeArg(o, c, p)
			}
			writeGuards(o, ctx.guards, c.Start)
		})
		o.Write(", ", c.Start)
		st.write(o, c, st.fragment(c, name, st.takesSet(c)).CTEs)
	})
	st.refer(c, name)
	return nil
}

// refer puts a reference to the call's result in its place. name is the WITH query that has the
// result, and may be followed by clauses.
func (st *statement) refer(c *call, name string) {
	result := sqlfuncs.QuoteIdent(c.Match.Func.Serves)
	alone := c.alone && st.fragments.Shape(c.Match.Func, st.use(c, false)).InOrder
	c.ref = func(o *splice.Output) {
		switch {
		case alone && st.rows == nil && !st.many:
			o.Write(result+" as "+c.Identifier()+" from "+name, c.Start)
			return
		case c.columns:
			o.Write("(select (m.r).* from (select "+result+" as r from "+name+") m)", c.Start)
			return
		case c.srf:
			o.Write("pg_catalog.unnest(array(select "+result+" from "+name+"))", c.Start)
			return
		}
		o.Write("(select "+result+" as "+c.Identifier()+" from "+name+")"+st.asRow(c), c.Start)
	}
	st.ed.Add(c.Span, c.ref)
}

// asRow returns a cast to the type that a subquery for a call has anyhow, or "" if it yields no
// row. Without the cast, in (mbus4.take('x')).nosuch the parentheses would be those of the
// subquery, and the server's error would point at them instead of at the call.
func (st *statement) asRow(c *call) string {
	if !c.Match.Func.Result.Composite() {
		return ""
	}
	return "::" + c.Match.Func.Result.SQL()
}

// writeArgs writes the WITH query that holds the arguments of c, with a row for each evaluation.
// selected writes the SELECT behind its first word.
func (st *statement) writeArgs(o *splice.Output, c *call, name string, selected func(o *splice.Output)) {
	o.Write(name+"_args(n", c.Start)
	for _, p := range c.arguments() {
		o.Write(", "+sqlfuncs.QuoteIdent(p.Name), c.Start)
	}
	o.Write(") as (select ", c.Start)
	selected(o)
	o.Write(")", c.Start)
}

// arguments returns the parameters for which the call's SQL has arguments.
func (c *call) arguments() []sqlfuncs.Param { return c.Match.Func.Arguments(c.given()) }

// given returns the names of the parameters that the call gives.
func (c *call) given() map[string]bool {
	given := map[string]bool{}
	for p := range c.Args {
		given[p] = true
	}
	return given
}

// writeArg writes the value of a parameter, cast to its type. The first parameter bears the call's guard.
func (st *statement) writeArg(o *splice.Output, c *call, p sqlfuncs.Param) {
	if c.guarded && !c.Match.Func.Prelude && p.Name == c.Match.Func.Params[0].Name {
		st.writeGuarded(o, c, func() { st.writeValue(o, c, p) })
		return
	}
	st.writeValue(o, c, p)
}

// writeValue writes the value of a parameter, cast to its type.
func (st *statement) writeValue(o *splice.Output, c *call, p sqlfuncs.Param) {
	cast := "::" + p.Type.SQL()
	if cast == "::" {
		cast = ""
	}
	if a, given := c.Args[p.Name]; given {
		before, after := "(", ")"
		if c.mayProject() && p.Type == sqlfuncs.Text {
			before, after = plan.NoRow+"((", "), '')"
		}
		if c.values[p.Name].Computed != (lex.Span{}) {
			// The prelude statement has evaluated it. The planner sees that here it need not be.
			before, after = "(case when true then null else (", ") end)"
		} else if p.Type == sqlfuncs.Hstore && (a.Node.GetParamRef() != nil || a.Node.GetAConst() != nil) {
			before, after, cast = "(row(", ")::"+sqlfuncs.BoundHstore+".given)", ".value" // a parameter, which a literal may become, is of the extension's type
		}
		o.Write(before, a.Start)
		st.ed.Render(o, a.Span)
		o.Write(after+cast, a.Start)
		return
	}
	for i, implied := range c.Match.Func.Params[:c.Match.Func.Implied] {
		if implied.Name == p.Name {
			o.Write("(", c.Start)
			st.write(o, c, st.fragments.ImpliedArgs(c.Match, mark(c.number))[i])
			o.Write(")"+cast, c.Start)
			return
		}
	}
	if p.Default != "" {
		o.Write(sqlfuncs.QuoteLiteral(p.Default)+cast, c.Start)
		return
	}
	o.Write("null"+cast, c.Start)
}

// use returns how a call uses its function, but for the condition. rows says that the call is
// evaluated once for each row of its arguments.
func (st *statement) use(c *call, rows bool) sqlfuncs.Use {
	use := sqlfuncs.Use{
		Given: c.given(), Fixed: map[string]bool{}, EitherOrder: c.EitherOrder(), Rows: rows,
		Ordered: st.env.Ordered, InPlace: c.function, Traced: st.traced, Reads: c.reads,
	}
	for i, a := range c.List {
		use.Fixed[c.ParamOf(i).Name] = find.Constant(a) && !c.maySkip
	}
	for _, p := range c.Match.Func.Params[:c.Match.Func.Implied] {
		use.Fixed[p.Name] = len(c.Match.Readings) == 1 && !c.maySkip
	}
	return use
}

// fragment returns the SQL that serves a call. name is that of its last WITH query, rows as in use.
func (st *statement) fragment(c *call, name string, rows bool) sqlfuncs.Fragment {
	use := st.use(c, rows)
	use.Condition = st.condition(c)
	if use.Given["headers"] {
		st.plan.UseHeaders()
	}
	return st.fragments.Fragment(c.Match.Func, use, st.names(c, name))
}

// names returns the names that the SQL of a call has in it.
func (st *statement) names(c *call, name string) sqlfuncs.Names {
	return sqlfuncs.Names{
		Call: name, Called: c.Identifier(),
		Number: strconv.Itoa(c.number), Mark: mark(c.number),
	}
}

// write writes SQL that serves a call, with its arguments in their places.
func (st *statement) write(o *splice.Output, c *call, text string) {
	writePlaces(o, text, c.Start, func(param string) { st.writeArg(o, c, c.Param(param)) })
}

// writePlaces writes SQL of a Fragments. What stands in the place of an argument, writeArg writes.
func writePlaces(o *splice.Output, text string, at int, writeArg func(param string)) {
	for {
		before, param, after, found := sqlfuncs.CutPlace(text)
		o.Write(before, at)
		if !found {
			return
		}
		width, traces := sqlfuncs.TraceWidth(param)
		switch {
		case param == "":
			o.WriteSecret(at)
		case traces:
			o.WriteTrace(at, width)
		default:
			writeArg(param)
		}
		text = after
	}
}

// writeGuards writes the guards of a context as the WHERE of a SELECT that has none.
func writeGuards(o *splice.Output, guards []func(o *splice.Output), at int) {
	for i, g := range guards {
		o.Write([]string{" where ", " and "}[min(i, 1)], at)
		g(o)
	}
}

// placeExpr serves a call by an expression that stands where the call stood.
func (st *statement) placeExpr(c *call) {
	name := st.numberShared(c)
	c.ref = func(o *splice.Output) { st.writeExpr(o, c, name) }
	st.ed.Add(c.Span, c.ref)
}

// writeExpr writes the expression that serves a call.
func (st *statement) writeExpr(o *splice.Output, c *call, name string) {
	if bound := c.boundArgs(); len(bound) > 0 && !c.Match.Func.Procedure {
		// The server must find the parameters in the statement, though only the prelude statement uses their values.
		o.Write("(case when pg_catalog.num_nonnulls(", c.Start)
		for i, p := range bound {
			if i > 0 {
				o.Write(", ", c.Start)
			}
			st.writeArg(o, c, p)
		}
		o.Write(") >= 0 then ", c.Start)
		defer o.Write(" end)", c.Start)
	}
	if c.guarded && len(c.Match.Func.Params) == 0 {
		st.writeGuarded(o, c, func() { st.writeBody(o, c, name) })
		return
	}
	st.writeBody(o, c, name)
}

// writeBody writes that expression without what stands around it.
func (st *statement) writeBody(o *splice.Output, c *call, name string) {
	if !c.function && !c.Match.Func.Set {
		defer func() { o.Write(st.asRow(c), c.Start) }()
	}
	st.write(o, c, st.fragment(c, name, false).Expr)
}

// mark returns what error markers hold of a call: its number in the text and the place of the secret.
func mark(number int) string { return strconv.Itoa(number) + " " + sqlfuncs.SecretPlace }
