package place

import (
	"strconv"

	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
	"mbusproxy/sqlfuncs"
)

// Fragments knows the SQL of each function. Package engine implements it.
type Fragments interface {
	Fragment(f *sqlfuncs.Func, use sqlfuncs.Use) sqlfuncs.Fragment
	// ImpliedArgs returns SQL for the implied parameters of a call by a family's name, such as
	// consume_a_by_b: one expression for each, decided by the database where the name has several
	// readings. The placeholders are those of Fragment.
	ImpliedArgs(m sqlfuncs.Match) []string
	// Guard returns a boolean expression that a call without the schema bears where it may no longer mean
	// ours: it is true, or fails. The arguments are those of a Candidate, the placeholders those of Fragment.
	Guard(name string, args int, named []string) string
}

// placeOnce serves a call that is evaluated once: the work goes into common table expressions, and
// a reference to their result stands where the call stood.
func (st *statement) placeOnce(c *call, ctx context) *plan.Refusal {
	if st.rows != nil {
		return st.placeInRow(c, ctx)
	}
	if st.many {
		return st.placeInSet(c, ctx)
	}
	c.srf = c.match.Func.Set || st.takesSet(c)
	name := st.number(c)
	ctx.point.add(func(o *splice.Output) {
		st.writeArgs(o, c, name, func(o *splice.Output) {
			o.Write("1::bigint", c.Start)
			for _, p := range c.match.Func.Params {
				o.Write(", ", c.Start)
				st.writeArg(o, c, p)
			}
			for i, g := range ctx.guards {
				o.Write([]string{" where ", " and "}[min(i, 1)], c.Start)
				g(o)
			}
		})
		o.Write(", ", c.Start)
		f := st.fragment(c, name, st.takesSet(c))
		st.write(o, f, f.CTEs)
	})
	st.refer(c, name)
	return nil
}

// refer puts the reference to the call's result in the place of the call.
func (st *statement) refer(c *call, name string) {
	result := sqlfuncs.QuoteIdent(c.match.Func.Serves)
	c.ref = func(o *splice.Output) {
		if c.srf {
			o.Write("pg_catalog.unnest(array(select "+result+" from "+name+"))", c.Start)
			return
		}
		o.Write("(select "+result+" as "+sqlfuncs.QuoteIdent(c.match.Name)+" from "+name+")"+st.asRow(c), c.Start)
	}
	st.ed.Add(c.Span, c.ref)
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
func (st *statement) writeArgs(o *splice.Output, c *call, name string, selected func(o *splice.Output)) {
	o.Write(name+"_a(n", c.Start)
	for _, p := range c.match.Func.Params {
		o.Write(", "+sqlfuncs.QuoteIdent(p.Name), c.Start)
	}
	o.Write(") as (select ", c.Start)
	selected(o)
	o.Write(")", c.Start)
}

// writeArg writes the value of a parameter, cast to its type. The first one bears the call's guard.
func (st *statement) writeArg(o *splice.Output, c *call, p sqlfuncs.Param) {
	if c.guarded && !c.match.Func.Step && p.Name == c.match.Func.Params[0].Name {
		st.writeGuarded(o, c, func() { st.writeValue(o, c, p) })
		return
	}
	st.writeValue(o, c, p)
}

func (st *statement) writeValue(o *splice.Output, c *call, p sqlfuncs.Param) {
	cast := "::" + p.Type.SQL(st.env.HstoreSchema)
	if a, given := c.args[p.Name]; given {
		before, after := "(", ")"
		if c.mayProject() && p.Type == sqlfuncs.Text {
			before, after = plan.NoRow+"((", "), '')"
		}
		o.Write(before, a.Start)
		st.ed.Render(o, a.Span)
		o.Write(after+cast, a.Start)
		return
	}
	for i, implied := range c.match.Func.Params[:c.match.Func.Implied] {
		if implied.Name == p.Name {
			o.Write("(", c.Start)
			st.writeText(o, c, st.fragments.ImpliedArgs(c.match)[i])
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

// served is the SQL that serves a call, with its placeholders, and what stands for them.
type served struct {
	sqlfuncs.Fragment
	c         *call
	name      string // of the fragment's last WITH query
	condition string
}

func (st *statement) fragment(c *call, name string, rows bool) served {
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
	if use.Given["headers"] {
		st.plan.UseHeaders()
	}
	s := served{c: c, name: name}
	s.condition, use.Condition = st.condition(c)
	s.Fragment = st.fragments.Fragment(c.match.Func, use)
	return s
}

// write writes text, one of the fragment's, in one pass: what stands for a placeholder may be the client's and
// look like another.
func (st *statement) write(o *splice.Output, s served, text string) {
	c := s.c
	o.WriteMarked(text, strconv.Itoa(c.number), c.Start, func(placeholder string) (string, func()) {
		switch placeholder {
		case "{c}":
			return s.name, nil
		case "{condition}":
			return s.condition, nil
		}
		if p := paramNamed(c.match.Func.Params, placeholder[1:len(placeholder)-1]); p != nil {
			return "", func() { st.writeArg(o, c, *p) }
		}
		return st.fixed(c, placeholder), nil
	})
}

// writeText writes text of the engine's whose placeholders are the same wherever it stands.
func (st *statement) writeText(o *splice.Output, c *call, text string) {
	o.WriteMarked(text, strconv.Itoa(c.number), c.Start, func(placeholder string) (string, func()) { return st.fixed(c, placeholder), nil })
}

// fixed returns what stands for such a placeholder; one that is none for itself.
func (st *statement) fixed(c *call, placeholder string) string {
	switch placeholder {
	case "{name}":
		return sqlfuncs.QuoteIdent(c.match.Name)
	case "{hstore}":
		return st.env.HstoreSchema
	}
	return placeholder
}

// placeExpr serves a call by an expression that stands where the call stood.
func (st *statement) placeExpr(c *call) {
	name := st.numberShared(c)
	c.ref = func(o *splice.Output) { st.writeExpr(o, c, name) }
	st.ed.Add(c.Span, c.ref)
}

func (st *statement) writeExpr(o *splice.Output, c *call, name string) {
	if bound := c.boundArgs(); len(bound) > 0 && !c.match.Func.Procedure {
		// What a step is given must stay in the statement, or the server would not know of it.
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
	if c.guarded && len(c.match.Func.Params) == 0 {
		st.writeGuarded(o, c, func() { st.writeBody(o, c, name) })
		return
	}
	st.writeBody(o, c, name)
}

func (st *statement) writeBody(o *splice.Output, c *call, name string) {
	if !c.function && !c.match.Func.Set {
		defer func() { o.Write(st.asRow(c), c.Start) }()
	}
	f := st.fragment(c, name, false)
	st.write(o, f, f.Expr)
}
