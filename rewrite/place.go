package rewrite

import (
	"strconv"
	"strings"

	"mbusproxy/sqlfuncs"
)

// placeOnce serves a call that is evaluated once: the work goes into common table expressions, and
// a reference to their result stands where the call stood.
func (st *statement) placeOnce(c *call, ctx context) {
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
		o.write(st.fragment(c, name, st.takesSet(c)).CTEs, c.start)
	})
	st.refer(c, name)
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
	o.write(name+"_a(n", c.start)
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
			o.write("("+st.fill(st.fragments.ImpliedArgs(c.match)[i], c, "")+")"+cast, c.start)
			return
		}
	}
	if p.Default != "" {
		o.write(sqlfuncs.QuoteLiteral(p.Default)+cast, c.start)
		return
	}
	o.write("null"+cast, c.start)
}

// fragment returns the SQL that serves c, with the placeholders filled but those of arguments.
func (st *statement) fragment(c *call, name string, rows bool) sqlfuncs.Fragment {
	use := sqlfuncs.Use{Given: map[string]bool{}, Rows: rows, Ordered: st.env.Ordered, Selective: st.env.Selective, InPlace: c.function}
	for p := range c.args {
		use.Given[p] = true
	}
	st.plan.headers = st.plan.headers || use.Given["headers"]
	var condition string
	condition, use.Condition = st.condition(c)
	f := st.fragments.Fragment(c.match.Func, use)
	f.CTEs = strings.ReplaceAll(st.fill(f.CTEs, c, name), "{condition}", condition)
	f.Expr = st.fill(f.Expr, c, name)
	return f
}

func (st *statement) fill(text string, c *call, name string) string {
	return strings.NewReplacer(
		"{c}", name,
		"{k}", strconv.Itoa(c.number),
		"{name}", sqlfuncs.QuoteIdent(c.match.Name),
		"{hstore}", st.env.HstoreSchema,
	).Replace(text)
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
	text := st.fragment(c, name, false).Expr
	for text != "" {
		// The next placeholder of an argument, if any.
		at, param := len(text), sqlfuncs.Param{}
		for _, p := range c.match.Func.Params {
			if i := strings.Index(text, "{"+p.Name+"}"); i >= 0 && i < at {
				at, param = i, p
			}
		}
		o.write(text[:at], c.start)
		text = text[at:]
		if param.Name != "" {
			st.writeArg(o, c, param)
			text = text[len(param.Name)+2:]
		}
	}
}
