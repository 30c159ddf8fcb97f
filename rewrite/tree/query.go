package tree

import (
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// Evaluates reports whether a statement evaluates its expressions itself. Others store them, and
// what is stored must not hold anything of ours. bare says that the expressions cannot hold
// subqueries.
func Evaluates(stmt *pg_query.Node) (bare, ok bool) {
	switch n := stmt.GetNode().(type) {
	case *pg_query.Node_SelectStmt, *pg_query.Node_InsertStmt, *pg_query.Node_UpdateStmt, *pg_query.Node_DeleteStmt, *pg_query.Node_MergeStmt:
		return false, true
	case *pg_query.Node_ExecuteStmt, *pg_query.Node_CallStmt:
		return true, true
	case *pg_query.Node_PrepareStmt:
		return Evaluates(n.PrepareStmt.Query)
	case *pg_query.Node_ExplainStmt:
		return Evaluates(n.ExplainStmt.Query)
	case *pg_query.Node_DeclareCursorStmt:
		return Evaluates(n.DeclareCursorStmt.Query)
	case *pg_query.Node_CopyStmt:
		if n.CopyStmt.Query == nil {
			return true, true // WHERE of COPY FROM
		}
		return Evaluates(n.CopyStmt.Query)
	case *pg_query.Node_CreateTableAsStmt:
		if n.CreateTableAsStmt.Objtype == pg_query.ObjectType_OBJECT_TABLE {
			return Evaluates(n.CreateTableAsStmt.Query)
		}
	}
	return false, false
}

// IsAggregate reports whether a message is a call of an aggregate or window function.
func IsAggregate(n any) bool {
	fc, ok := n.(*pg_query.FuncCall)
	return ok && (fc.Over != nil || fc.AggFilter != nil || fc.AggStar || namesAggregate(fc))
}

// namesAggregate knows the aggregates of Postgres by name. An aggregate of a user's over a call is
// not known: without GROUP BY its result is right all the same, with GROUP BY the server reports an
// error.
func namesAggregate(fc *pg_query.FuncCall) bool {
	switch strings.ToLower(NameOf(fc.Funcname[len(fc.Funcname)-1])) {
	case "count", "sum", "avg", "min", "max", "array_agg", "string_agg", "bool_and", "bool_or", "every", "any_value",
		"json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg", "xmlagg", "bit_and", "bit_or", "bit_xor",
		"range_agg", "stddev", "variance":
		return true
	}
	return false
}

// IsExpressionOnly reports whether a SELECT has one target without a name, and nothing else.
func IsExpressionOnly(s *pg_query.SelectStmt) bool {
	if s == nil || len(s.TargetList) != 1 || s.Op != pg_query.SetOperation_SETOP_NONE || s.WithClause != nil || s.IntoClause != nil ||
		len(s.FromClause) > 0 || ClauseOf(s) != "" {
		return false
	}
	t := s.TargetList[0].GetResTarget()
	return t.GetName() == "" && len(t.GetIndirection()) == 0 && !EndsInStar(t.GetVal())
}

// OnlyTarget returns the one expression that a SELECT without an alias and clauses has; else nil.
func OnlyTarget(sel *pg_query.SelectStmt) *pg_query.Node {
	if !IsExpressionOnly(sel) {
		return nil
	}
	return sel.TargetList[0].GetResTarget().GetVal()
}

// ColumnsRead reports whether a SELECT has nothing but a target list and one function in FROM, and
// the targets are columns of it: not the row as a whole, which a subquery gives another type.
// isColumn says which names are columns of it also where they are the row's own. names are those of
// the columns in alphabetical order; nil where it reads all, or calls them by names of its own.
func ColumnsRead(sel *pg_query.SelectStmt, isColumn func(name string) bool) (names []string, ok bool) {
	if len(sel.FromClause) != 1 || ClauseOf(sel) != "" || sel.IntoClause != nil {
		return nil, false
	}
	rf := sel.FromClause[0].GetRangeFunction()
	if rf == nil || rf.Ordinality || rf.IsRowsfrom || rf.Lateral || len(rf.Coldeflist) > 0 {
		return nil, false
	}
	row, all := RowName(sel.FromClause[0]), len(rf.GetAlias().GetColnames()) > 0
	names = []string{}
	for _, t := range sel.TargetList {
		fields := t.GetResTarget().GetVal().GetColumnRef().GetFields()
		if len(fields) == 2 && NameOf(fields[0]) == row {
			fields = fields[1:]
		}
		if len(fields) != 1 {
			return nil, false
		}
		name := NameOf(fields[0])
		switch {
		case fields[0].GetAStar() != nil:
			all = true
		case name == row && !isColumn(name), name == "":
			return nil, false
		default:
			names = append(names, name)
		}
	}
	if all {
		return nil, true
	}
	slices.Sort(names)
	return slices.Compact(names), true
}

// OnceOnly reports whether the target list of a SELECT is evaluated exactly once.
func OnceOnly(sel *pg_query.SelectStmt) bool {
	return len(sel.FromClause) == 0 && ClauseOf(sel) == ""
}

// ClauseOf returns the name of a clause that the SELECT has behind FROM, or DISTINCT; "" if it has none of these.
func ClauseOf(sel *pg_query.SelectStmt) string {
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

// RowName returns the name that stands for a whole row of an item of FROM, or "".
func RowName(item *pg_query.Node) string {
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
			return NameOf(fc.Funcname[len(fc.Funcname)-1])
		}
	}
	return ""
}

// BindsParameters reports whether $n in a statement is a parameter of the protocol.
func BindsParameters(stmt *pg_query.Node) bool {
	switch stmt.Node.(type) {
	case *pg_query.Node_SelectStmt, *pg_query.Node_InsertStmt, *pg_query.Node_UpdateStmt, *pg_query.Node_DeleteStmt,
		*pg_query.Node_MergeStmt, *pg_query.Node_CallStmt, *pg_query.Node_ExplainStmt, *pg_query.Node_CreateTableAsStmt, *pg_query.Node_DeclareCursorStmt:
		return true
	}
	return false
}
