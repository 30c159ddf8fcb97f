package place

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/splice"
	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

// nameTargets gives columns that are named after a call an alias, if what serves the call would give them another name.
func (st *statement) nameTargets(list []*pg_query.Node) {
	for _, n := range list {
		t := n.GetResTarget()
		c := st.namingCall(t.GetVal())
		if c == nil || c.ref == nil || c.named || t.Name != "" || (!c.srf && !c.unnamed()) {
			continue
		}
		c.named = true
		end := st.exprEnd(t, c)
		st.ed.Extend(c.Span, end, func(o *splice.Output) { o.Write(" as "+c.Identifier(), end) })
	}
}

// unnamed reports whether the expression that serves the call gives no name to the column.
func (c *call) unnamed() bool {
	return c.function || c.Match.Func.Effect == sqlfuncs.Draws || c.Match.Func.Effect == sqlfuncs.Native
}

// namingCall returns the call after which Postgres names the column, or nil.
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
			if _, strength := tree.LastName(v.AIndirection.Indirection); strength > 0 || tree.EndsInStar(n) {
				return nil
			}
			n = v.AIndirection.Arg
		default:
			return nil
		}
	}
	return nil
}

// exprEnd returns the byte behind the expression of a target, which begins with the call c, or with
// something around it.
func (st *statement) exprEnd(t *pg_query.ResTarget, c *call) int {
	s := st.src
	i := s.At(int(t.Location))
	if i < 0 {
		i = s.At(c.Start)
	}
	last := i
	for j := i; j < len(s.Toks); j = s.Next(j) {
		switch s.Kind(j) {
		case tree.TokComma, tree.TokSemicolon, tree.TokClose:
			return s.Toks[last].End
		}
		if s.ClauseEnd(j, j+1) == j || s.BehindQuery(j) {
			return s.Toks[last].End
		}
		last = s.Next(j) - 1
	}
	return s.Toks[last].End
}
