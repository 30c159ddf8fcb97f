package rewrite

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/sqlfuncs"
)

// selectBody places the calls of a SELECT or VALUES that is evaluated once; its WITH clause, if
// any, is dealt with already. Such a SELECT can refer to no columns of a query around it, so its text
// may move where its region is known.
func (st *statement) selectBody(sel *pg_query.SelectStmt, ctx context, reg region) *Refusal {
	if len(st.below(sel.ProtoReflect())) == 0 {
		return nil
	}
	reg = st.src.unwrap(reg)
	switch {
	case sel.Op != pg_query.SetOperation_SETOP_NONE:
		return st.setOperation(sel, ctx)
	case len(sel.ValuesLists) > 0:
		return st.values(sel, ctx)
	}
	return st.plainSelect(sel, ctx, reg)
}

// unwrap takes parentheses around all of reg off.
func (s *source) unwrap(reg region) region {
	for reg.known() && s.kind(reg.first) == tokOpen && s.toks[reg.first].match == reg.end-1 {
		reg = region{reg.first + 1, reg.end - 1}
	}
	return reg
}

func (st *statement) setOperation(sel *pg_query.SelectStmt, ctx context) *Refusal {
	if sel.LimitCount != nil {
		// Postgres stops at the limit and may never come to the second branch.
		ctx.refused = "a UNION, INTERSECT or EXCEPT with LIMIT"
	}
	for _, arm := range []*pg_query.SelectStmt{sel.Larg, sel.Rarg} {
		if arm.WithClause != nil {
			ctx.refused = "a branch with a WITH clause of its own"
		}
		if r := st.selectBody(arm, ctx, region{}); r != nil {
			return r
		}
	}
	return st.elsewhereAll(append(append([]*pg_query.Node{}, sel.SortClause...), sel.LimitCount, sel.LimitOffset), "ORDER BY or LIMIT")
}

func (st *statement) values(sel *pg_query.SelectStmt, ctx context) *Refusal {
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

func (st *statement) plainSelect(sel *pg_query.SelectStmt, ctx context, reg region) *Refusal {
	inFrom := ctx
	if st.writesBelow(sel.FromClause...) {
		inFrom = ctx.gatedBy(st, sel.WhereClause, sel, reg)
	}
	if r := st.from(sel.FromClause, inFrom); r != nil {
		return r
	}
	if r := first(
		func() *Refusal { return st.elsewhereNode(sel.WhereClause, "WHERE") },
		func() *Refusal { return st.elsewhereAll(sel.GroupClause, "GROUP BY") },
		func() *Refusal { return st.elsewhereNode(sel.HavingClause, "HAVING") },
		func() *Refusal { return st.elsewhereAll(sel.SortClause, "ORDER BY") },
		func() *Refusal { return st.elsewhereAll(sel.WindowClause, "WINDOW") },
		func() *Refusal { return st.elsewhereAll(sel.DistinctClause, "DISTINCT ON") },
		func() *Refusal {
			return st.elsewhereAll([]*pg_query.Node{sel.LimitCount, sel.LimitOffset}, "LIMIT")
		},
	); r != nil {
		return r
	}
	if !st.writesBelow(sel.TargetList...) && !has(st.isStep, sel.TargetList...) {
		r := st.elsewhereAll(sel.TargetList, "the target list")
		st.nameTargets(sel.TargetList)
		return r
	}
	if ctx.refused != "" {
		return st.elsewhereAll(sel.TargetList, ctx.refused)
	}
	if onceOnly(sel) {
		for _, t := range sel.TargetList {
			if r := st.expr(t.GetResTarget().Val, ctx); r != nil {
				return r
			}
		}
		st.nameTargets(sel.TargetList)
		return nil
	}
	if !reg.known() {
		return st.elsewhereAll(sel.TargetList, "the target list of a branch of UNION, INTERSECT or EXCEPT with FROM or WHERE")
	}
	if ctx.limited {
		return st.elsewhereAll(sel.TargetList, "the target list of a query whose rows are read up to a LIMIT")
	}
	return st.hoist(sel, ctx, reg)
}

// onceOnly reports whether the target list is evaluated exactly once.
func onceOnly(sel *pg_query.SelectStmt) bool {
	return len(sel.FromClause) == 0 && clauseOf(sel) == ""
}

// clauseOf names a clause that the SELECT has behind FROM, or DISTINCT, if any.
func clauseOf(sel *pg_query.SelectStmt) string {
	switch {
	case len(sel.DistinctClause) > 0:
		return "DISTINCT"
	case sel.WhereClause != nil:
		return "WHERE"
	case len(sel.GroupClause) > 0:
		return "GROUP BY"
	case sel.HavingClause != nil:
		return "HAVING"
	case len(sel.WindowClause) > 0:
		return "WINDOW"
	case len(sel.SortClause) > 0:
		return "ORDER BY"
	case sel.LimitCount != nil:
		return "LIMIT"
	case sel.LimitOffset != nil:
		return "OFFSET"
	case len(sel.LockingClause) > 0:
		return "FOR UPDATE"
	}
	return ""
}

// nameTargets says the names of columns that came from a call whose replacement has another name.
func (st *statement) nameTargets(list []*pg_query.Node) {
	for _, n := range list {
		t := n.GetResTarget()
		c := st.namingCall(t.GetVal())
		if c == nil || c.ref == nil || c.named || t.Name != "" || (!c.srf && !c.unnamed()) {
			continue
		}
		c.named = true
		end := st.exprEnd(t, c)
		st.ed.extend(c.span, end, func(o *output) { o.write(" as "+sqlfuncs.QuoteIdent(c.match.Name), end) })
	}
}

// unnamed reports whether the expression that serves the call bears no name of its own.
func (c *call) unnamed() bool {
	return c.function || c.match.Func.Effect == sqlfuncs.Draws || c.match.Func.Effect == sqlfuncs.Native
}

// namingCall returns the call whose name the column gets, or nil.
func (st *statement) namingCall(n *pg_query.Node) *call {
	for n != nil {
		switch v := n.Node.(type) {
		case *pg_query.Node_FuncCall:
			return st.callOf(v.FuncCall)
		case *pg_query.Node_TypeCast:
			n = v.TypeCast.Arg
		case *pg_query.Node_CollateClause:
			n = v.CollateClause.Arg
		case *pg_query.Node_CaseExpr:
			n = v.CaseExpr.Defresult
		case *pg_query.Node_AIndirection:
			if _, strength := lastName(v.AIndirection.Indirection); strength > 0 || endsInStar(n) {
				return nil
			}
			n = v.AIndirection.Arg
		default:
			return nil
		}
	}
	return nil
}

// exprEnd returns the byte behind the target's expression, which starts with the call c or with
// something around it.
func (st *statement) exprEnd(t *pg_query.ResTarget, c *call) int {
	s := st.src
	i := s.at(int(t.Location))
	if i < 0 {
		i = s.at(c.start)
	}
	last := i
	for j := i; j < len(s.toks); j = s.next(j) {
		switch s.kind(j) {
		case tokComma, tokSemicolon, tokClose:
			return s.toks[last].end
		}
		if s.clauseEnd(j, j+1) == j || s.behindQuery(j) {
			return s.toks[last].end
		}
		last = s.next(j) - 1
	}
	return s.toks[last].end
}

// behindQuery reports whether token i starts what may stand behind a query and belongs to the
// statement around it: ON CONFLICT, WITH [NO] DATA, WITH CHECK OPTION.
func (s *source) behindQuery(i int) bool {
	switch s.kind(i) {
	case pg_query.Token_ON:
		return true
	case pg_query.Token_WITH:
		switch s.kind(i + 1) {
		case pg_query.Token_DATA_P, pg_query.Token_NO, pg_query.Token_CHECK, pg_query.Token_LOCAL, pg_query.Token_CASCADED:
			return true
		}
	}
	return false
}

// from places the calls in a FROM clause that is evaluated once.
func (st *statement) from(items []*pg_query.Node, ctx context) *Refusal {
	ctx.beside = ctx.beside || len(items) > 1
	for _, n := range items {
		if r := st.fromItem(n, ctx); r != nil {
			return r
		}
	}
	return nil
}

func (st *statement) fromItem(n *pg_query.Node, ctx context) *Refusal {
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
				// What matches nothing vanishes, and Postgres may not even look.
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

// subquery places the calls of a subquery that is evaluated once.
func (st *statement) subquery(sel *pg_query.SelectStmt, ctx context) *Refusal {
	if sel.WithClause != nil {
		return st.elsewhere(sel.ProtoReflect(), "a subquery with a WITH clause of its own")
	}
	ctx.beside = false
	return st.selectBody(sel, ctx, st.enclosing(sel))
}

// enclosing returns the region between the parentheses around a subquery, found by the first call
// in it, or an unknown region.
func (st *statement) enclosing(sel *pg_query.SelectStmt) region {
	if sel.Op != pg_query.SetOperation_SETOP_NONE || len(sel.TargetList) == 0 {
		return region{}
	}
	s := st.src
	first := s.at(int(sel.TargetList[0].GetResTarget().Location))
	for i := first - 1; i >= 0; i-- {
		if s.kind(i) == pg_query.Token_SELECT && s.kind(i-1) == tokOpen {
			return region{i, s.toks[i-1].match}
		}
		if s.kind(i) != pg_query.Token_ALL && s.kind(i) != pg_query.Token_DISTINCT {
			break
		}
	}
	return region{}
}
