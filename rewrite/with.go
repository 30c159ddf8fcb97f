package rewrite

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// with places the calls in the bodies of a WITH clause at the top of stmt. It returns the region
// behind the clause.
func (st *statement) with(stmt *pg_query.Node, with *pg_query.WithClause, reg region) (body region, refusal *Refusal) {
	s := st.src
	spans := make([]region, len(with.Ctes))
	end := reg.first
	for i, n := range with.Ctes {
		spans[i], end = s.cteBody(n.GetCommonTableExpr())
	}
	body = region{end, reg.end}
	for i, n := range with.Ctes {
		cte := n.GetCommonTableExpr()
		if len(st.below(n.ProtoReflect())) == 0 {
			continue
		}
		ctx := context{point: st.newPoint(s.toks[s.at(int(cte.Location))].start, "", ", ")}
		sel := cte.Ctequery.GetSelectStmt()
		if sel != nil && st.writesBelow(cte.Ctequery) {
			if with.Recursive && refersTo(cte.Ctequery, cte.Ctename) {
				return body, st.elsewhereNode(cte.Ctequery, "a recursive query")
			}
			use := usageOf(stmt, with, i)
			if !use.reached {
				// Postgres does not run it at all.
				return body, st.elsewhereNode(cte.Ctequery, "a WITH query that nothing refers to ("+cte.Ctename+")")
			}
			if main := stmt.GetSelectStmt(); main != nil && !use.forced {
				ctx = ctx.gatedBy(st, main.WhereClause, main, body)
			}
		}
		if r := st.cte(cte.Ctequery, ctx, spans[i]); r != nil {
			return body, r
		}
	}
	return body, nil
}

// cte places the calls in the body of one common table expression.
func (st *statement) cte(query *pg_query.Node, ctx context, reg region) *Refusal {
	if sel := query.GetSelectStmt(); sel != nil && sel.WithClause != nil && st.writesBelow(query) {
		return st.elsewhereNode(query, "a WITH query inside another")
	}
	if ctx.refused != "" && st.writesBelow(query) {
		return st.elsewhereNode(query, ctx.refused)
	}
	return st.body(query, ctx, reg)
}

// cteBody returns the tokens between the parentheses of a common table expression, and the index
// of the token behind it.
func (s *source) cteBody(cte *pg_query.CommonTableExpr) (body region, next int) {
	i := s.at(int(cte.Location)) + 1 // behind the name
	for s.kind(i) != pg_query.Token_AS {
		i = s.next(i) // the column names
	}
	for s.kind(i) != tokOpen {
		i++ // AS [NOT] [MATERIALIZED]
	}
	body = region{i + 1, s.toks[i].match}
	next = s.next(i)
	// SEARCH and CYCLE belong to the expression.
	for s.kind(next) == pg_query.Token_SEARCH || s.kind(next) == pg_query.Token_CYCLE {
		next = s.find(next+1, len(s.toks), pg_query.Token_SELECT, pg_query.Token_INSERT, pg_query.Token_UPDATE,
			pg_query.Token_DELETE_P, pg_query.Token_MERGE, pg_query.Token_VALUES, pg_query.Token_TABLE, tokComma,
			pg_query.Token_SEARCH, pg_query.Token_CYCLE, tokOpen)
		if next < 0 {
			return body, len(s.toks)
		}
	}
	return body, next
}
