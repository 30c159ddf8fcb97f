package place

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/tree"
)

// selectBody places the calls of a SELECT or VALUES that is evaluated once, but for those in its
// WITH clause. Such a SELECT refers to no columns of a query around it, so its text may move. reg
// is its region, if that is known.
func (st *statement) selectBody(sel *pg_query.SelectStmt, ctx context, reg tree.Region) *plan.Refusal {
	if len(st.below(sel.ProtoReflect())) == 0 {
		return nil
	}
	reg = st.src.Unwrap(reg)
	switch {
	case sel.Op != pg_query.SetOperation_SETOP_NONE:
		return st.setOperation(sel, ctx)
	case len(sel.ValuesLists) > 0:
		return st.values(sel, ctx)
	}
	return st.plainSelect(sel, ctx, reg)
}

// setOperation places the calls of UNION, INTERSECT or EXCEPT.
func (st *statement) setOperation(sel *pg_query.SelectStmt, ctx context) *plan.Refusal {
	if sel.LimitCount != nil {
		// Postgres stops at the limit, perhaps before the second branch.
		ctx.refused = "a UNION, INTERSECT or EXCEPT with LIMIT"
	}
	for _, arm := range []*pg_query.SelectStmt{sel.Larg, sel.Rarg} {
		if arm.WithClause != nil {
			ctx.refused = "a branch with a WITH clause of its own"
		}
		if r := st.selectBody(arm, ctx, tree.Region{}); r != nil {
			return r
		}
	}
	return st.elsewhereAll(append(append([]*pg_query.Node{}, sel.SortClause...), sel.LimitCount, sel.LimitOffset), "ORDER BY or LIMIT")
}

// values places the calls of VALUES.
func (st *statement) values(sel *pg_query.SelectStmt, ctx context) *plan.Refusal {
	if sel.LimitCount != nil || sel.LimitOffset != nil {
		ctx.refused = "VALUES with LIMIT"
	}
	for _, row := range sel.ValuesLists {
		for _, v := range row.GetList().GetItems() {
			if r := st.expr(v, ctx); r != nil {
				return r
			}
		}
	}
	return st.elsewhereAll(append(append([]*pg_query.Node{}, sel.SortClause...), sel.LimitCount, sel.LimitOffset), "ORDER BY or LIMIT")
}

// plainSelect places the calls of a SELECT that is neither.
func (st *statement) plainSelect(sel *pg_query.SelectStmt, ctx context, reg tree.Region) *plan.Refusal {
	inFrom := ctx
	if st.writesBelow(sel.FromClause...) {
		inFrom = ctx.gatedBy(st, sel.WhereClause, sel, reg)
	}
	inFrom.reads, inFrom.columns = tree.ColumnsRead(sel, func(name string) bool {
		calls := st.below(sel.FromClause[0].ProtoReflect())
		return len(calls) > 0 && calls[0].Match.Func.Result.HasColumn(name)
	})
	if r := st.from(sel.FromClause, inFrom); r != nil {
		return r
	}
	if r := first(
		func() *plan.Refusal { return st.elsewhereNode(sel.WhereClause, "WHERE") },
		func() *plan.Refusal { return st.elsewhereAll(sel.GroupClause, "GROUP BY") },
		func() *plan.Refusal { return st.elsewhereNode(sel.HavingClause, "HAVING") },
		func() *plan.Refusal { return st.elsewhereAll(sel.SortClause, "ORDER BY") },
		func() *plan.Refusal { return st.elsewhereAll(sel.WindowClause, "WINDOW") },
		func() *plan.Refusal { return st.elsewhereAll(sel.DistinctClause, "DISTINCT ON") },
		func() *plan.Refusal {
			return st.elsewhereAll([]*pg_query.Node{sel.LimitCount, sel.LimitOffset}, "LIMIT")
		},
	); r != nil {
		return r
	}
	if !st.writesBelow(sel.TargetList...) && !tree.Has(st.isPrelude, sel.TargetList...) {
		r := st.elsewhereAll(sel.TargetList, "the target list")
		st.nameTargets(sel.TargetList)
		return r
	}
	if ctx.refused != "" {
		return st.elsewhereAll(sel.TargetList, ctx.refused)
	}
	if n := st.besideSet(sel.TargetList); n != nil {
		// Postgres evaluates it for each row, and once more to learn that there is none.
		return st.elsewhereNode(n, "a target list with a set")
	}
	if sel.LimitOffset != nil {
		// Postgres evaluates the target list for the rows that are skipped, too.
		return st.elsewhereAll(sel.TargetList, "a target list with OFFSET")
	}
	if tree.OnceOnly(sel) {
		call := tree.OnlyTarget(sel).GetFuncCall()
		if c := st.callOf(call); c != nil { // in parentheses, it would take what follows it in with it
			c.alone = len(ctx.guards) == 0 && sel.TargetList[0].GetResTarget().GetLocation() == call.GetLocation()
		}
		for _, t := range sel.TargetList {
			if r := st.expr(t.GetResTarget().Val, ctx); r != nil {
				return r
			}
		}
		st.nameTargets(sel.TargetList)
		return nil
	}
	if !reg.Known() {
		return st.elsewhereAll(sel.TargetList, "the target list of a branch of UNION, INTERSECT or EXCEPT with FROM or WHERE")
	}
	if ctx.limited {
		return st.elsewhereAll(sel.TargetList, "the target list of a query whose rows are read up to a LIMIT")
	}
	return st.hoist(sel, ctx, reg)
}

// besideSet returns the first entry of a target list in which a call with an effect stands beside a function of Postgres that yields a set: in the
// same entry or another, but not within the call's arguments.
func (st *statement) besideSet(targets []*pg_query.Node) *pg_query.Node {
	sets := 0
	for _, t := range targets {
		if tree.HasOutside(st.isForeignSet, t) {
			sets++
		}
	}
	if sets == 0 {
		return nil
	}
	for _, t := range targets {
		if tree.HasOutside(st.writes, t) && (sets > 1 || !tree.HasOutside(st.isForeignSet, t) || tree.HasExcept(st.isForeignSet, st.isCallOrSubLink, t)) {
			return t
		}
	}
	return nil
}

// subquery places the calls of a subquery that is evaluated once.
func (st *statement) subquery(sel *pg_query.SelectStmt, ctx context) *plan.Refusal {
	if sel.WithClause != nil {
		return st.elsewhere(sel.ProtoReflect(), "a subquery with a WITH clause of its own")
	}
	ctx.beside = false
	return st.selectBody(sel, ctx, st.enclosing(sel))
}

// enclosing returns the region between the parentheses around a subquery, or an unknown region.
func (st *statement) enclosing(sel *pg_query.SelectStmt) tree.Region {
	if sel.Op != pg_query.SetOperation_SETOP_NONE || len(sel.TargetList) == 0 {
		return tree.Region{}
	}
	s := st.src
	first := s.At(int(sel.TargetList[0].GetResTarget().Location))
	for i := first - 1; i >= 0; i-- {
		if s.Kind(i) == pg_query.Token_SELECT && s.Kind(i-1) == tree.TokOpen {
			return tree.Region{First: i, End: s.Toks[i-1].Match}
		}
		if s.Kind(i) != pg_query.Token_ALL && s.Kind(i) != pg_query.Token_DISTINCT {
			break
		}
	}
	return tree.Region{}
}
