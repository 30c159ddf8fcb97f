package rewrite

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/sqlfuncs"
)

func isStar(n any) bool { _, ok := n.(*pg_query.A_Star); return ok }

// endsInStar reports whether an expression is expanded to the columns of a row.
func endsInStar(n *pg_query.Node) bool {
	fields := n.GetColumnRef().GetFields()
	if ind := n.GetAIndirection(); ind != nil {
		fields = ind.Indirection
	}
	return len(fields) > 0 && fields[len(fields)-1].GetAStar() != nil
}

// findStars finds the entries that are expanded to the columns of a row. In the row set such an
// entry is one column, the row as a whole. It returns what stands in the way, if anything.
func (rs *rowSet) findStars() (problem string) {
	st := rs.st
	rs.stars = make([]func(o *output), len(rs.targets))
	for i, n := range rs.sel.TargetList {
		val := n.GetResTarget().Val
		if st.writesBelow(n) || !endsInStar(val) {
			continue
		}
		if n.GetResTarget().Name != "" {
			return "a target list with a named *"
		}
		sp := rs.targets[i]
		fields := val.GetColumnRef().GetFields()
		if len(fields) == 1 {
			name := ""
			if len(rs.sel.FromClause) == 1 {
				name = rowName(rs.sel.FromClause[0])
			}
			if name == "" || rs.scalarItem(name) {
				return "a target list with * over such a FROM; name the columns"
			}
			rs.stars[i] = func(o *output) { o.write(sqlfuncs.QuoteIdent(name), sp.start) }
			continue
		}
		if len(fields) == 2 && rs.scalarItem(nameOf(fields[0])) {
			return "a target list with * of a function; name the columns"
		}
		j := st.src.from(sp.end)
		row := st.src.tokens(st.src.at(sp.start), j-2) // without ".*"
		rs.stars[i] = func(o *output) { st.ed.render(o, row) }
	}
	return ""
}

// rowName returns the name by which an item of FROM is referred to as a whole, or "".
func rowName(item *pg_query.Node) string {
	switch v := item.Node.(type) {
	case *pg_query.Node_RangeVar:
		if a := v.RangeVar.Alias; a != nil {
			return a.Aliasname
		}
		return v.RangeVar.Relname
	case *pg_query.Node_RangeSubselect:
		return v.RangeSubselect.Alias.GetAliasname()
	case *pg_query.Node_RangeFunction:
		if a := v.RangeFunction.Alias; a != nil {
			return a.Aliasname
		}
		if fc := v.RangeFunction.Functions[0].GetList().GetItems()[0].GetFuncCall(); fc != nil {
			return nameOf(fc.Funcname[len(fc.Funcname)-1])
		}
	}
	return ""
}

// scalarItem reports whether the FROM item of that name is a function of which it is not known that
// it yields rows: as a whole it would be a plain value.
func (rs *rowSet) scalarItem(name string) bool {
	var find func(items []*pg_query.Node) bool
	find = func(items []*pg_query.Node) bool {
		for _, n := range items {
			if j := n.GetJoinExpr(); j != nil {
				if find([]*pg_query.Node{j.Larg, j.Rarg}) {
					return true
				}
				continue
			}
			rf := n.GetRangeFunction()
			if rf == nil || rowName(n) != name {
				continue
			}
			c := rs.st.callOf(rf.Functions[0].GetList().GetItems()[0].GetFuncCall())
			return c == nil || !c.match.Func.Set
		}
		return false
	}
	return find(rs.sel.FromClause)
}
