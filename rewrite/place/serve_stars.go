package place

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/splice"
	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

// findStars finds the entries of the target list that are expanded to the columns of a row. Such an
// entry becomes one hidden column, the row as a whole. It returns what stands in the way of that,
// if anything.
func (rs *rowSet) findStars() (problem string) {
	st := rs.st
	rs.stars = make([]func(o *splice.Output), len(rs.targets))
	for i, n := range rs.sel.TargetList {
		val := n.GetResTarget().Val
		if st.writesBelow(n) || !tree.EndsInStar(val) {
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
				name = tree.RowName(rs.sel.FromClause[0])
			}
			if name == "" || rs.scalarItem(name) {
				return "a target list with * over such a FROM; name the columns"
			}
			rs.stars[i] = func(o *splice.Output) { o.Write(sqlfuncs.QuoteIdent(name), sp.Start) }
			continue
		}
		if len(fields) == 2 && rs.scalarItem(tree.NameOf(fields[0])) {
			return "a target list with * of a function; name the columns"
		}
		j := st.src.From(sp.End)
		row := st.src.Span(st.src.At(sp.Start), j-2) // without ".*"
		rs.stars[i] = func(o *splice.Output) { st.ed.Render(o, row) }
	}
	return ""
}

// scalarItem reports whether the item of FROM with that name is a function that may yield plain
// values: then the item as a whole is no row.
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
			if rf == nil || tree.RowName(n) != name {
				continue
			}
			c := rs.st.callOf(rf.Functions[0].GetList().GetItems()[0].GetFuncCall())
			return c == nil || !c.Match.Func.Set
		}
		return false
	}
	return find(rs.sel.FromClause)
}
