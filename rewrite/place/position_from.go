package place

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

// rangeFunction places the calls of an item of FROM that is a function, or a list of functions (ROWS FROM).
func (st *statement) rangeFunction(rf *pg_query.RangeFunction, ctx context) *plan.Refusal {
	for i, item := range rf.Functions {
		fn := item.GetList().GetItems()[0]
		fc := fn.GetFuncCall()
		c := st.callOf(fc)
		if fc == nil || c == nil {
			if ctx.beside && tree.HasOutside(tree.IsColumnRef, fn) && st.writesBelow(fn) {
				return st.elsewhereNode(fn, "LATERAL")
			}
			if r := st.expr(fn, ctx); r != nil {
				return r
			}
			continue
		}
		if r := st.functionInFrom(rf, c, ctx); r != nil {
			return r
		}
		if i == 0 && rf.Alias == nil {
			st.nameFunction(rf, c)
		}
	}
	return nil
}

// functionInFrom places a call that is an item of FROM.
func (st *statement) functionInFrom(rf *pg_query.RangeFunction, c *call, ctx context) *plan.Refusal {
	f := c.Match.Func
	if !f.Result.Composite() && rf.IsRowsfrom {
		return refusePosition(c, "ROWS FROM")
	}
	if f.Effect == sqlfuncs.Writes && ctx.beside && tree.HasOutside(tree.IsColumnRef, c.List...) {
		return refusePosition(c, "FROM with arguments from other items of FROM (LATERAL)")
	}
	if ctx.refused != "" && f.Effect == sqlfuncs.Writes {
		return refusePosition(c, ctx.refused)
	}
	if c.Unbounded() && !c.waits() { // a wait comes once, which only a call inline is certain to do
		return refusePosition(c, "FROM for all rows that there are") // inline they would be one array, which has a greatest size
	}
	if r := st.exprs(ctx, c.List...); r != nil {
		return r
	}
	if st.takesSet(c) {
		return refusePosition(c, "FROM with a set as argument")
	}
	if f.Effect == sqlfuncs.Writes {
		c.columns = ctx.columns && f.Set && f.Result.Composite()
		if c.columns {
			c.reads = ctx.reads
		}
		if r := st.placeOnce(c, ctx); r != nil {
			return r
		}
	} else {
		st.placeExpr(c)
	}
	if c.srf {
		return nil
	}
	st.wrapInFrom(c)
	return nil
}

// exprInFrom turns the expressions that serve the calls of an item of FROM into what may stand in
// FROM, and gives them the names that the calls had.
func (st *statement) exprInFrom(rf *pg_query.RangeFunction) *plan.Refusal {
	for i, item := range rf.Functions {
		c := st.callOf(item.GetList().GetItems()[0].GetFuncCall())
		if c == nil || !c.function && c.Match.Func.Effect == sqlfuncs.Writes {
			continue
		}
		if !c.Match.Func.Result.Composite() && rf.IsRowsfrom && (i > 0 || len(rf.Alias.GetColnames()) == 0) {
			return refusePosition(c, placeRowsFrom)
		}
		if !c.function {
			st.wrapInFrom(c)
		}
		if i == 0 && rf.Alias == nil {
			st.nameFunction(rf, c)
		}
	}
	return nil
}

// wrapInFrom writes a function that changes nothing around what serves a call in FROM, where only functions may stand.
func (st *statement) wrapInFrom(c *call) {
	if c.wrapped {
		return
	}
	c.wrapped = true
	inner := c.ref
	before, after := "coalesce(", ")"
	if c.Match.Func.Result.Composite() {
		before, after = "pg_catalog.unnest(array[", "])"
	}
	c.ref = func(o *splice.Output) {
		o.Write(before, c.Start)
		inner(o)
		o.Write(after, c.Start)
	}
	st.ed.Replace(c.Span, c.ref)
}

// nameFunction gives what serves a function in FROM the function's name as an alias.
func (st *statement) nameFunction(rf *pg_query.RangeFunction, c *call) {
	if c.named {
		return
	}
	c.named = true
	s := st.src
	i := s.From(c.End)
	if rf.IsRowsfrom {
		i = s.Next(s.At(c.Start) - 1)
	}
	if s.Kind(i) == pg_query.Token_WITH && s.Kind(i+1) == pg_query.Token_ORDINALITY {
		i += 2
	}
	end := s.Toks[i-1].End
	st.ed.Extend(c.Span, end, func(o *splice.Output) { o.Write(" as "+c.Identifier(), end) })
}

// from places the calls in a FROM clause that is evaluated once.
func (st *statement) from(items []*pg_query.Node, ctx context) *plan.Refusal {
	ctx.beside = ctx.beside || len(items) > 1
	for _, n := range items {
		if r := st.fromItem(n, ctx); r != nil {
			return r
		}
	}
	return nil
}

// fromItem places the calls in an item of FROM.
func (st *statement) fromItem(n *pg_query.Node, ctx context) *plan.Refusal {
	if len(st.below(n.ProtoReflect())) == 0 {
		return nil
	}
	switch v := n.Node.(type) {
	case *pg_query.Node_RangeVar:
		return nil
	case *pg_query.Node_JoinExpr:
		j := v.JoinExpr
		ctx.beside = true
		for _, side := range []struct {
			item     *pg_query.Node
			nullable bool
		}{
			{j.Larg, j.Jointype == pg_query.JoinType_JOIN_RIGHT || j.Jointype == pg_query.JoinType_JOIN_FULL},
			{j.Rarg, j.Jointype == pg_query.JoinType_JOIN_LEFT || j.Jointype == pg_query.JoinType_JOIN_FULL},
		} {
			inner := ctx
			if side.nullable {
				// If nothing matches its rows Postgres may not read them at all.
				inner.refused = "the nullable side of an outer join"
			}
			if r := st.fromItem(side.item, inner); r != nil {
				return r
			}
		}
		return st.elsewhereNode(j.Quals, "ON of JOIN")
	case *pg_query.Node_RangeSubselect:
		sel := v.RangeSubselect.Subquery.GetSelectStmt()
		if sel == nil || v.RangeSubselect.Lateral {
			return st.elsewhere(n.ProtoReflect(), "LATERAL")
		}
		return st.subquery(sel, ctx)
	case *pg_query.Node_RangeFunction:
		return st.rangeFunction(v.RangeFunction, ctx)
	}
	return st.elsewhere(n.ProtoReflect(), "FROM")
}
