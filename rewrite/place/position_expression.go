package place

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/plan"
	"mbusproxy/sqlfuncs"
)

// expr places the calls in an expression that is evaluated once, as a whole. It goes down through
// nodes that evaluate all that is below them. Below other nodes, calls with an effect are refused.
func (st *statement) expr(n *pg_query.Node, ctx context) *plan.Refusal {
	if n == nil || len(st.below(n.ProtoReflect())) == 0 {
		return nil
	}
	if ctx.refused != "" && st.writesBelow(n) {
		return st.elsewhereNode(n, ctx.refused)
	}
	switch v := n.Node.(type) {
	case *pg_query.Node_FuncCall:
		return st.funcCall(v.FuncCall, ctx)
	case *pg_query.Node_NamedArgExpr:
		return st.expr(v.NamedArgExpr.Arg, ctx)
	case *pg_query.Node_TypeCast:
		return st.expr(v.TypeCast.Arg, ctx)
	case *pg_query.Node_CollateClause:
		return st.expr(v.CollateClause.Arg, ctx)
	case *pg_query.Node_NullTest:
		return st.expr(v.NullTest.Arg, ctx)
	case *pg_query.Node_BooleanTest:
		return st.expr(v.BooleanTest.Arg, ctx)
	case *pg_query.Node_AIndirection:
		return st.exprs(ctx, append([]*pg_query.Node{v.AIndirection.Arg}, v.AIndirection.Indirection...)...)
	case *pg_query.Node_AIndices:
		return st.exprs(ctx, v.AIndices.Lidx, v.AIndices.Uidx)
	case *pg_query.Node_AArrayExpr:
		return st.exprs(ctx, v.AArrayExpr.Elements...)
	case *pg_query.Node_RowExpr:
		return st.exprs(ctx, v.RowExpr.Args...)
	case *pg_query.Node_MinMaxExpr:
		return st.exprs(ctx, v.MinMaxExpr.Args...)
	case *pg_query.Node_AExpr:
		switch v.AExpr.Kind {
		case pg_query.A_Expr_Kind_AEXPR_OP, pg_query.A_Expr_Kind_AEXPR_DISTINCT, pg_query.A_Expr_Kind_AEXPR_NOT_DISTINCT,
			pg_query.A_Expr_Kind_AEXPR_LIKE, pg_query.A_Expr_Kind_AEXPR_ILIKE:
			return st.exprs(ctx, v.AExpr.Lexpr, v.AExpr.Rexpr)
		}
		return st.elsewhereNode(n, "IN, BETWEEN, ANY, ALL or NULLIF")
	case *pg_query.Node_CoalesceExpr:
		args := v.CoalesceExpr.Args
		if r := st.expr(args[0], ctx); r != nil {
			return r
		}
		return st.elsewhereAll(args[1:], "COALESCE behind its first argument")
	case *pg_query.Node_SubLink:
		if st.preludesBelow(n) {
			return st.elsewhereNode(n, "a subquery")
		}
		sel := v.SubLink.Subselect.GetSelectStmt()
		if v.SubLink.SubLinkType == pg_query.SubLinkType_EXISTS_SUBLINK && sel != nil && st.valuesBelow(sel.TargetList) {
			// Postgres does not evaluate what EXISTS selects, unless it is a set.
			return st.elsewhereNode(n, "the target list of EXISTS")
		}
		switch v.SubLink.SubLinkType {
		case pg_query.SubLinkType_EXPR_SUBLINK, pg_query.SubLinkType_ARRAY_SUBLINK, pg_query.SubLinkType_EXISTS_SUBLINK:
			if sel != nil {
				return st.subquery(sel, ctx)
			}
		}
		return st.elsewhereNode(n, "IN, ANY or ALL")
	case *pg_query.Node_CaseExpr:
		return st.caseExpr(n, v.CaseExpr, ctx)
	case *pg_query.Node_BoolExpr:
		return st.elsewhereNode(n, "AND, OR or NOT")
	}
	return st.elsewhereNode(n, "such an expression")
}

// exprs is expr for several nodes.
func (st *statement) exprs(ctx context, nodes ...*pg_query.Node) *plan.Refusal {
	for _, n := range nodes {
		if r := st.expr(n, ctx); r != nil {
			return r
		}
	}
	return nil
}

// funcCall places the calls in the arguments of a function, and the call itself if it is one of ours.
func (st *statement) funcCall(fc *pg_query.FuncCall, ctx context) *plan.Refusal {
	c := st.callOf(fc)
	if c == nil {
		rest := append(append([]*pg_query.Node{}, fc.AggOrder...), fc.AggFilter)
		if r := st.elsewhereAll(rest, "ORDER BY or FILTER of an aggregate"); r != nil {
			return r
		}
		if fc.Over != nil {
			if r := st.elsewhere(fc.Over.ProtoReflect(), "OVER"); r != nil {
				return r
			}
		}
		return st.exprs(ctx, fc.Args...)
	}
	if r := st.exprs(ctx, c.List...); r != nil {
		return r
	}
	if c.Match.Func.Effect == sqlfuncs.Writes {
		return st.placeOnce(c, ctx)
	}
	if st.takesSet(c) {
		return refusePosition(c, "a call with a set as argument")
	}
	st.placeExpr(c)
	return nil
}
