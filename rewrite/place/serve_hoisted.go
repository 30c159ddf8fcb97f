package place

import (
	"fmt"
	"slices"
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

// rowSet is a SELECT whose target list calls functions for each of its rows. Its text moves into a
// WITH query, which yields the rows with all that the calls and the outer target list need. The
// calls work on those rows. In the SELECT's place stands another, which joins rows and results:
//
//	with rows1 as (select pg_catalog.row_number() over () as n, s.* from (<the SELECT, calls replaced by null,
//	               arguments added>) as s(h1, h2, …)),
//	     call1_args(n, <parameters>) as (select rows1.n, rows1.h3, … from rows1), call1 as (<the fragment>)
//	select rows1.h1 as <name>, call1.<result> from rows1 left join call1 on call1.n = rows1.n order by rows1.n
type rowSet struct {
	st      *statement
	sel     *pg_query.SelectStmt
	name    string
	sp      lex.Span                 // of the SELECT
	targets []lex.Span               // of the entries of the target list, with aliases
	stars   []func(o *splice.Output) // for an entry that is a row's *, what writes the row; else nil
	guards  []func(o *splice.Output) // of the context
	hidden  []func(o *splice.Output) // columns behind the targets that the client did not ask for
	byText  map[string]int
	lifted  bool    // whether the outer target list refers to columns of the rows
	calls   []*call // in the order of placing
	names   []string
}

// hoist serves the calls in a target list that is evaluated for each row of a set.
func (st *statement) hoist(sel *pg_query.SelectStmt, ctx context, reg tree.Region) *plan.Refusal {
	rs := &rowSet{st: st, sel: sel, byText: map[string]int{}, guards: ctx.guards, sp: st.src.Span(reg.First, reg.End)}
	if st.many && st.writesBelow(sel.TargetList...) {
		return st.refuseWrites(sel.TargetList, placeMany)
	}
	if where := rs.unfit(); where != "" {
		return st.elsewhereAll(sel.TargetList, where)
	}
	rs.split(reg)
	if r := rs.checkOrder(); r != nil {
		return r
	}
	st.rowSets++
	rs.name = fmt.Sprintf("%srows%d", st.prefix, st.rowSets)
	if where := rs.findStars(); where != "" {
		return st.refuseWrites(sel.TargetList, where)
	}
	for _, t := range sel.TargetList {
		if !st.writesBelow(t) {
			if r := st.elsewhereNode(t, "the target list"); r != nil {
				return r
			}
		}
	}
	ctx.point.add(rs.writeRows)
	for _, t := range sel.TargetList {
		if st.writesBelow(t) {
			if r := rs.lift(t.GetResTarget().Val, ctx, false); r != nil {
				return r
			}
		}
	}
	sets := 0
	for _, c := range rs.calls {
		if c.Match.Func.Set {
			sets++
		}
	}
	if sets > 0 && sel.LimitCount != nil {
		// It holds for the rows after the set has multiplied them, and Postgres does not call for
		// those that it does not read.
		return refusePosition(rs.calls[0], "a target list with LIMIT over a set")
	}
	if c := st.nativeBelow(sel.TargetList...); c != nil && sets > 0 {
		// Postgres evaluates it for each row of the set, but in the WITH query it would be evaluated once for the set.
		return refusePosition(c, "a target list with a set over the rows of FROM")
	}
	if sets > 1 {
		return refusePosition(rs.calls[0], "a target list with several sets over the rows of FROM")
	}
	st.ed.Add(rs.sp, rs.writeOuter)
	return nil
}

// refuseWrites returns the refusal of the first call with an effect below nodes, or nil. It may be placed already.
func (st *statement) refuseWrites(nodes []*pg_query.Node, where string) *plan.Refusal {
	for _, n := range nodes {
		for _, c := range st.below(n.ProtoReflect()) {
			if c.Match.Func.Effect == sqlfuncs.Writes {
				return refusePosition(c, where)
			}
		}
	}
	return nil
}

// unfit names what keeps the SELECT from being moved, if anything.
func (rs *rowSet) unfit() string {
	switch sel := rs.sel; {
	case len(sel.DistinctClause) > 0:
		return "SELECT DISTINCT"
	case sel.IntoClause != nil:
		return "SELECT INTO with FROM"
	case sel.LimitOption == pg_query.LimitOption_LIMIT_OPTION_WITH_TIES:
		return "FETCH FIRST … WITH TIES"
	case rs.st.src.Kind(rs.st.src.At(rs.sp.Start)) != pg_query.Token_SELECT:
		return "such a SELECT"
	}
	return ""
}

// split finds the spans of the entries of the target list.
func (rs *rowSet) split(reg tree.Region) {
	s := rs.st.src
	i := s.At(int(rs.sel.TargetList[0].GetResTarget().Location))
	end := s.ClauseEnd(i, reg.End)
	for {
		j := s.Find(i, end, tree.TokComma)
		if j < 0 {
			rs.targets = append(rs.targets, s.Span(i, end))
			return
		}
		rs.targets = append(rs.targets, s.Span(i, j))
		i = j + 1
	}
}

// checkOrder refuses ORDER BY and GROUP BY that need the result of a call. They are evaluated with
// the rows, before the call.
func (rs *rowSet) checkOrder() *plan.Refusal {
	star := false
	for _, t := range rs.sel.TargetList {
		star = star || tree.Has(tree.IsStar, t)
	}
	check := func(n *pg_query.Node, where string) *plan.Refusal {
		if k := n.GetAConst(); k.GetIval() != nil {
			rs.st.plan.Pin(int(k.Location))
			i := int(k.GetIval().Ival) - 1
			if star || (i >= 0 && i < len(rs.sel.TargetList) && rs.st.writesBelow(rs.sel.TargetList[i])) {
				return rs.st.refuseWrites(rs.sel.TargetList, "a target list that "+where+" refers to by number")
			}
		}
		if f := n.GetColumnRef().GetFields(); len(f) == 1 {
			for _, t := range rs.sel.TargetList {
				if rs.st.writesBelow(t) && tree.ColumnName(t.GetResTarget()) == tree.NameOf(f[0]) {
					return rs.st.refuseWrites([]*pg_query.Node{t}, "a column that "+where+" refers to")
				}
			}
		}
		return nil
	}
	for _, n := range rs.sel.SortClause {
		if r := check(n.GetSortBy().GetNode(), "ORDER BY"); r != nil {
			return r
		}
	}
	for _, n := range rs.sel.GroupClause {
		if r := check(n, "GROUP BY"); r != nil {
			return r
		}
	}
	return nil
}

// column returns a reference to a hidden column that holds what emit writes. Columns with the same
// key are one, unless it is "".
func (rs *rowSet) column(key string, emit func(o *splice.Output)) string {
	i, ok := rs.byText[key]
	if !ok || key == "" {
		i = len(rs.hidden)
		rs.hidden = append(rs.hidden, emit)
		rs.byText[key] = i
	}
	return rs.ref(len(rs.targets) + i)
}

// ref returns a reference to column i of the rows.
func (rs *rowSet) ref(i int) string { return rs.name + ".h" + strconv.Itoa(i+1) }

// writeRows writes the WITH query that yields the rows.
func (rs *rowSet) writeRows(o *splice.Output) {
	st, at := rs.st, rs.sp.Start
	keep, number := " as materialized (", "pg_catalog.row_number() over ()"
	if rs.resultsOnly() {
		keep = " as (" // it is read only once, by the arguments of the one call
		if rs.inOrder() {
			number = "1::bigint"
		}
	}
	o.Write(rs.name+keep+"select "+number+" as n, s.* from (", at)
	st.ed.Copy(o, rs.sp.Start, rs.targets[0].Start) // the word SELECT
	for i, t := range rs.sel.TargetList {
		if i > 0 {
			o.Write(", ", rs.targets[i].Start)
		}
		switch {
		case st.writesBelow(t):
			o.Write("null", rs.targets[i].Start)
		case rs.stars[i] != nil:
			rs.stars[i](o)
		default:
			st.ed.Render(o, rs.targets[i])
		}
	}
	for _, h := range rs.hidden {
		o.Write(", ", at)
		h(o)
	}
	last := rs.targets[len(rs.targets)-1].End
	if last < rs.sp.End {
		st.ed.Render(o, lex.Span{Start: last, End: rs.sp.End})
	}
	o.Write(") as s(", at)
	for i := range len(rs.targets) + len(rs.hidden) {
		if i > 0 {
			o.Write(", ", at)
		}
		o.Write("h"+strconv.Itoa(i+1), at)
	}
	o.Write(")", at)
	writeGuards(o, rs.guards, at)
	o.Write(")", at)
}

// resultsOnly reports whether the outer target list needs nothing but the results of one call.
func (rs *rowSet) resultsOnly() bool {
	return len(rs.calls) == 1 && !rs.lifted && !slices.ContainsFunc(rs.sel.TargetList, func(n *pg_query.Node) bool {
		t := n.GetResTarget()
		return !rs.st.writesBelow(n) && t.Val.GetAConst() == nil && t.Val.GetParamRef() == nil
	})
}

// inOrder reports whether the results of the one call come in the order of the rows.
func (rs *rowSet) inOrder() bool {
	return rs.st.fragments.Shape(rs.calls[0].Match.Func, rs.st.use(rs.calls[0], true)).InOrder
}

// writeOuter writes the SELECT that stands in the place of the client's.
func (rs *rowSet) writeOuter(o *splice.Output) {
	st, at := rs.st, rs.sp.Start
	o.Write("select ", at)
	for i, n := range rs.sel.TargetList {
		t := n.GetResTarget()
		if i > 0 {
			o.Write(", ", rs.targets[i].Start)
		}
		switch {
		case st.writesBelow(n):
			st.ed.Render(o, rs.targets[i])
			if t.Name == "" && !tree.EndsInStar(t.Val) {
				o.Write(" as "+sqlfuncs.QuoteIdent(tree.ColumnName(t)), at)
			}
		case rs.stars[i] != nil:
			o.Write("("+rs.ref(i)+").*", rs.targets[i].Start)
		case t.Val.GetAConst() != nil || t.Val.GetParamRef() != nil:
			// A literal is written again, since its type may depend on what the SELECT is for.
			st.ed.Render(o, rs.targets[i])
		default:
			o.Write(rs.ref(i)+" as "+sqlfuncs.QuoteIdent(tree.ColumnName(t)), rs.targets[i].Start)
		}
	}
	if rs.resultsOnly() {
		o.Write(" from "+rs.names[0], at)
		if rs.inOrder() {
			return
		}
		o.Write(" order by "+rs.names[0]+".n", at)
		if rs.calls[0].Match.Func.Set {
			o.Write(", "+rs.names[0]+".o", at)
		}
		return
	}
	o.Write(" from "+rs.name, at)
	order := " order by " + rs.name + ".n"
	for i, c := range rs.calls {
		name := rs.names[i]
		join := " left join "
		if c.Match.Func.Set {
			join = " join "
			order += ", " + name + ".o"
		}
		o.Write(join+name+" on "+name+".n = "+rs.name+".n", at)
	}
	o.Write(order, at)
}
