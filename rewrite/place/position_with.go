package place

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/tree"
)

// with places the calls in the queries of the WITH clause of stmt, and returns the region behind the clause.
func (st *statement) with(stmt *pg_query.Node, with *pg_query.WithClause, reg tree.Region) (body tree.Region, refusal *plan.Refusal) {
	s := st.src
	spans := make([]tree.Region, len(with.Ctes))
	end := reg.First
	for i, n := range with.Ctes {
		spans[i], end = s.CTEBody(n.GetCommonTableExpr())
	}
	body = tree.Region{First: end, End: reg.End}
	for i, n := range with.Ctes {
		cte := n.GetCommonTableExpr()
		if len(st.below(n.ProtoReflect())) == 0 {
			continue
		}
		ctx := context{point: st.newPoint(s.Toks[s.At(int(cte.Location))].Start, "", ", ")}
		sel := cte.Ctequery.GetSelectStmt()
		if sel != nil && st.writesBelow(cte.Ctequery) {
			if with.Recursive && tree.RefersTo(cte.Ctequery, cte.Ctename) {
				return body, st.elsewhereNode(cte.Ctequery, "a recursive query")
			}
			use := tree.UsageOf(stmt, with, i)
			if !use.Reached {
				// Postgres does not run a SELECT that nothing reads.
				return body, st.elsewhereNode(cte.Ctequery, "a WITH query that nothing refers to ("+cte.Ctename+")")
			}
			if main := stmt.GetSelectStmt(); main != nil && !use.Forced {
				ctx = ctx.gatedBy(st, main.WhereClause, main, body)
			}
		}
		if r := st.cte(cte.Ctequery, ctx, spans[i]); r != nil {
			return body, r
		}
	}
	return body, nil
}

// cte places the calls in one query of a WITH clause.
func (st *statement) cte(query *pg_query.Node, ctx context, reg tree.Region) *plan.Refusal {
	if sel := query.GetSelectStmt(); sel != nil && sel.WithClause != nil && st.writesBelow(query) {
		return st.elsewhereNode(query, "a WITH query inside another")
	}
	if ctx.refused != "" && st.writesBelow(query) {
		return st.elsewhereNode(query, ctx.refused)
	}
	return st.body(query, ctx, reg)
}
