package rewrite

import (
	"strconv"

	"mbusproxy/sqlfuncs"
)

// placeOnce serves a call that is evaluated once: the work goes into common table expressions, and
// a reference to their result stands where the call stood.
func (st *statement) placeOnce(c *call, ctx context) *Refusal {
	if st.rows != nil {
		return st.placeInRow(c, ctx)
	}
	if st.many {
		return st.placeInSet(c, ctx)
	}
	c.srf = c.match.Func.Set || st.takesSet(c)
	name := st.number(c)
	ctx.point.add(func(o *output) {
		st.writeArgs(o, c, name, func(o *output) {
			o.write("1::bigint", c.start)
			for _, p := range c.match.Func.Params {
				o.write(", ", c.start)
				st.writeArg(o, c, p)
			}
			for i, g := range ctx.guards {
				o.write([]string{" where ", " and "}[min(i, 1)], c.start)
				g(o)
			}
		})
		o.write(", ", c.start)
		st.write(o, c, st.fragment(c, name, st.takesSet(c)).CTEs)
	})
	st.refer(c, name)
	return nil
}

// refer puts the reference to the call's result in the place of the call.
func (st *statement) refer(c *call, name string) {
	result := sqlfuncs.QuoteIdent(c.match.Func.Serves)
	c.ref = func(o *output) {
		if c.srf {
			o.write("pg_catalog.unnest(array(select "+result+" from "+name+"))", c.start)
			return
		}
		o.write("(select "+result+" as "+sqlfuncs.QuoteIdent(c.match.Name)+" from "+name+")"+st.asRow(c), c.start)
	}
	st.ed.add(c.span, c.ref)
}

// asRow is a cast of a subquery that serves a call to the type it has. In parentheses, as in
// (mbus4.take('x')).nosuch, a bare subquery would take these for its own, and the server's error would point
// at them instead of at the call.
func (st *statement) asRow(c *call) string {
	if !c.match.Func.Result.Composite() {
		return ""
	}
	return "::" + c.match.Func.Result.SQL(st.env.HstoreSchema)
}

// writeArgs writes the expression that holds the arguments of c, one row for each evaluation.
func (st *statement) writeArgs(o *output, c *call, name string, selected func(o *output)) {
	o.write(name+"_args(n", c.start)
	for _, p := range c.match.Func.Params {
		o.write(", "+sqlfuncs.QuoteIdent(p.Name), c.start)
	}
	o.write(") as (select ", c.start)
	selected(o)
	o.write(")", c.start)
}

// writeArg writes the value of a parameter, cast to its type. The first one bears the call's guard.
func (st *statement) writeArg(o *output, c *call, p sqlfuncs.Param) {
	if c.guarded && !c.match.Func.Step && p.Name == c.match.Func.Params[0].Name {
		st.writeGuarded(o, c, func() { st.writeValue(o, c, p) })
		return
	}
	st.writeValue(o, c, p)
}

func (st *statement) writeValue(o *output, c *call, p sqlfuncs.Param) {
	cast := "::" + p.Type.SQL(st.env.HstoreSchema)
	if a, given := c.args[p.Name]; given {
		before, after := "(", ")"
		if c.mayProject() && p.Type == sqlfuncs.Text {
			before, after = noRow+"((", "), '')"
		}
		o.write(before, a.start)
		st.ed.render(o, a.span)
		o.write(after+cast, a.start)
		return
	}
	for i, implied := range c.match.Func.Params[:c.match.Func.Implied] {
		if implied.Name == p.Name {
			o.write("(", c.start)
			st.write(o, c, st.fragments.ImpliedArgs(c.match, mark(c.number))[i])
			o.write(")"+cast, c.start)
			return
		}
	}
	if p.Default != "" {
		o.write(sqlfuncs.QuoteLiteral(p.Default)+cast, c.start)
		return
	}
	o.write("null"+cast, c.start)
}

// use is how a call uses its function, but for the condition.
func (st *statement) use(c *call, rows bool) sqlfuncs.Use {
	use := sqlfuncs.Use{
		Given: map[string]bool{}, Fixed: map[string]bool{}, Rows: rows,
		Ordered: st.env.Ordered, Selective: st.env.Selective, InPlace: c.function,
	}
	for p := range c.args {
		use.Given[p] = true
	}
	for i, a := range c.list {
		use.Fixed[c.paramOf(i).Name] = constant(a)
	}
	for _, p := range c.match.Func.Params[:c.match.Func.Implied] {
		use.Fixed[p.Name] = len(c.match.Readings) == 1
	}
	return use
}

// fragment is the SQL that serves a call; name is that of its last WITH query.
func (st *statement) fragment(c *call, name string, rows bool) sqlfuncs.Fragment {
	use := st.use(c, rows)
	use.Condition = st.condition(c)
	st.plan.headers = st.plan.headers || use.Given["headers"]
	return st.fragments.Fragment(c.match.Func, use, st.names(c, name))
}

func (st *statement) names(c *call, name string) sqlfuncs.Names {
	return sqlfuncs.Names{
		Call: name, Called: sqlfuncs.QuoteIdent(c.match.Name), Hstore: st.env.HstoreSchema,
		Number: strconv.Itoa(c.number), Mark: mark(c.number),
	}
}

// write writes SQL that serves a call, with its places.
func (st *statement) write(o *output, c *call, text string) {
	for {
		before, param, after, found := sqlfuncs.CutPlace(text)
		o.write(before, c.start)
		switch {
		case !found:
			return
		case param == "":
			o.writeSecret(c.start)
		default:
			st.writeArg(o, c, c.param(param))
		}
		text = after
	}
}

// placeExpr serves a call by an expression that stands where the call stood.
func (st *statement) placeExpr(c *call) {
	name := st.numberShared(c)
	c.ref = func(o *output) { st.writeExpr(o, c, name) }
	st.ed.add(c.span, c.ref)
}

func (st *statement) writeExpr(o *output, c *call, name string) {
	if bound := c.boundArgs(); len(bound) > 0 && !c.match.Func.Procedure {
		// What a step is given must stay in the statement, or the server would not know of it.
		o.write("(case when pg_catalog.num_nonnulls(", c.start)
		for i, p := range bound {
			if i > 0 {
				o.write(", ", c.start)
			}
			st.writeArg(o, c, p)
		}
		o.write(") >= 0 then ", c.start)
		defer o.write(" end)", c.start)
	}
	if c.guarded && len(c.match.Func.Params) == 0 {
		st.writeGuarded(o, c, func() { st.writeBody(o, c, name) })
		return
	}
	st.writeBody(o, c, name)
}

func (st *statement) writeBody(o *output, c *call, name string) {
	if !c.function && !c.match.Func.Set {
		defer func() { o.write(st.asRow(c), c.start) }()
	}
	st.write(o, c, st.fragment(c, name, false).Expr)
}
