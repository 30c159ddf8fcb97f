package place

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"mbusproxy/rewrite/find"
	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

// lift prepares an expression with calls for the outer target list: its columns become columns of
// the rows, and its calls, innermost first, work on the rows. nested says that the expression is an
// argument of such a call.
func (rs *rowSet) lift(n *pg_query.Node, ctx context, nested bool) *plan.Refusal {
	st := rs.st
	if n == nil {
		return nil
	}
	if !st.writesBelow(n) {
		return rs.liftColumns(n)
	}
	down := func(nodes ...*pg_query.Node) *plan.Refusal {
		for _, n := range nodes {
			if r := rs.lift(n, ctx, nested); r != nil {
				return r
			}
		}
		return nil
	}
	switch v := n.Node.(type) {
	case *pg_query.Node_FuncCall:
		c := st.callOf(v.FuncCall)
		if c != nil {
			return rs.placeCall(c, ctx, nested)
		}
		fc := v.FuncCall
		if tree.IsAggregate(fc) || fc.AggDistinct || len(fc.AggOrder) > 0 {
			return st.elsewhereNode(n, "an aggregate or window function over the rows of FROM")
		}
		return down(fc.Args...)
	case *pg_query.Node_NamedArgExpr:
		return down(v.NamedArgExpr.Arg)
	case *pg_query.Node_TypeCast:
		return down(v.TypeCast.Arg)
	case *pg_query.Node_CollateClause:
		return down(v.CollateClause.Arg)
	case *pg_query.Node_NullTest:
		return down(v.NullTest.Arg)
	case *pg_query.Node_AIndirection:
		for _, i := range v.AIndirection.Indirection {
			if ind := i.GetAIndices(); ind != nil {
				if r := down(ind.Lidx, ind.Uidx); r != nil {
					return r
				}
			}
		}
		return down(v.AIndirection.Arg)
	case *pg_query.Node_AArrayExpr:
		return down(v.AArrayExpr.Elements...)
	case *pg_query.Node_RowExpr:
		return down(v.RowExpr.Args...)
	case *pg_query.Node_AExpr:
		if v.AExpr.Kind == pg_query.A_Expr_Kind_AEXPR_OP {
			return down(v.AExpr.Lexpr, v.AExpr.Rexpr)
		}
	case *pg_query.Node_SubLink:
		return st.elsewhereNode(n, "a subquery over the rows of FROM")
	case *pg_query.Node_CaseExpr:
		return st.elsewhereNode(n, "CASE")
	}
	return st.elsewhereNode(n, "such an expression over the rows of FROM")
}

// liftColumns makes the columns in an expression without calls columns of the rows. Functions
// around them are evaluated in the outer target list.
func (rs *rowSet) liftColumns(n *pg_query.Node) *plan.Refusal {
	st := rs.st
	beside := rs.sel.TargetList
	switch {
	case tree.Has(tree.IsSubLink, n):
		return st.refuseWrites(beside, "an expression with a subquery over the rows of FROM")
	case tree.Has(tree.IsAggregate, n):
		return st.refuseWrites(beside, "an expression with an aggregate or window function")
	case tree.Has(tree.IsStar, n):
		return st.refuseWrites(beside, "an expression with a row's *")
	}
	s := st.src
	tree.Walk(n.ProtoReflect(), func(m protoreflect.Message) bool {
		ref, ok := m.Interface().(*pg_query.ColumnRef)
		if !ok {
			return true
		}
		i := s.At(int(ref.Location))
		sp := s.Span(i, i+2*len(ref.Fields)-1)
		text := s.Text[sp.Start:sp.End]
		rs.lifted = true
		col := rs.column(text, func(o *splice.Output) { o.Write(text, sp.Start) })
		st.ed.Add(sp, func(o *splice.Output) { o.Write(col, sp.Start) })
		return false
	})
	return st.elsewhereNode(n, "such an expression")
}

// placeCall serves one call on the rows.
func (rs *rowSet) placeCall(c *call, ctx context, nested bool) *plan.Refusal {
	st := rs.st
	if c.Match.Func.Effect != sqlfuncs.Writes {
		return refusePosition(c, "such an expression over the rows of FROM")
	}
	if nested && c.Match.Func.Set {
		return refusePosition(c, "the arguments of a call over the rows of FROM")
	}
	// Arguments without calls are columns of the rows, already cast. The others are evaluated with
	// the rows and the results of the inner calls.
	inner := len(rs.calls)
	columns := make(map[string]string)
	for i, a := range c.List {
		p := c.ParamOf(i)
		if st.writesBelow(a) {
			if r := rs.lift(a, ctx, true); r != nil {
				return r
			}
			continue
		}
		if r := st.elsewhereNode(a, "the target list"); r != nil {
			return r
		}
		if !find.Constant(a) {
			columns[p.Name] = rs.column("", func(o *splice.Output) { st.writeArg(o, c, p) })
		}
	}
	joined := rs.names[inner:]
	name := st.number(c)
	ctx.point.add(func(o *splice.Output) {
		st.writeArgs(o, c, name, func(o *splice.Output) {
			o.Write(rs.name+".n", c.Start)
			for _, p := range c.arguments() {
				o.Write(", ", c.Start)
				if col, ok := columns[p.Name]; ok {
					o.Write(col, c.Start)
				} else {
					st.writeArg(o, c, p)
				}
			}
			o.Write(" from "+rs.name, c.Start)
			for _, j := range joined {
				o.Write(fmt.Sprintf(" left join %s on %s.n = %s.n", j, j, rs.name), c.Start)
			}
		})
		o.Write(", ", c.Start)
		st.write(o, c, st.fragment(c, name, true).CTEs)
	})
	rs.calls, rs.names = append(rs.calls, c), append(rs.names, name)
	c.ref = func(o *splice.Output) { o.Write(name+"."+sqlfuncs.QuoteIdent(c.Match.Func.Serves), c.Start) }
	st.ed.Add(c.Span, c.ref)
	return nil
}
