package place

import (
	"fmt"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

const codeWrongObjectType = "42809"

// checkStored refuses all calls of a statement that stores its expressions: what serves a call must
// not get into the database, whatever the call does.
func (st *statement) checkStored(stmt *pg_query.Node) *plan.Refusal {
	if _, ok := tree.Evaluates(stmt); ok {
		return nil
	}
	if explained := stmt.GetExplainStmt().GetQuery(); explained != nil {
		stmt = explained
	}
	if stmt.GetViewStmt() != nil || stmt.GetCreateTableAsStmt() != nil {
		return refusePosition(st.calls[0], placeView)
	}
	return refusePosition(st.calls[0], "this statement")
}

// checkProcedures refuses functions in CALL and procedures anywhere else, as Postgres does.
func (st *statement) checkProcedures(stmt *pg_query.Node) *plan.Refusal {
	called := stmt.GetCallStmt().GetFunccall()
	for _, c := range st.calls {
		refuse := func(message, hint string) *plan.Refusal {
			return &plan.Refusal{
				Code:    codeWrongObjectType,
				Message: fmt.Sprintf(message, sqlfuncs.Schema+"."+c.Match.Name),
				Hint:    hint,
				Offset:  c.Start,
			}
		}
		switch {
		case c.Match.Func.Procedure && c.Node != called:
			return refuse("%s(…) is a procedure", "To call a procedure, use CALL.")
		case !c.Match.Func.Procedure && c.Node == called:
			return refuse("%s(…) is not a procedure", "To call a function, use SELECT.")
		}
	}
	return nil
}

// checkPreludes refuses calls that need prelude statements where Postgres would not evaluate them
// exactly once: a prelude statement runs once. It looks at the statement as a whole; expr decides
// about positions inside an expression.
func (st *statement) checkPreludes(stmt *pg_query.Node) *plan.Refusal {
	for _, c := range st.calls {
		if !c.Match.Func.Prelude {
			continue
		}
		if where := st.unfitForPreludes(stmt); where != "" {
			return refusePosition(c, where)
		}
		return nil
	}
	return nil
}

// unfitForPreludes names what keeps the statement from having prelude statements, if anything.
func (st *statement) unfitForPreludes(stmt *pg_query.Node) string {
	switch stmt.Node.(type) {
	case *pg_query.Node_SelectStmt:
	case *pg_query.Node_CallStmt:
		return ""
	case *pg_query.Node_InsertStmt:
		return "INSERT"
	case *pg_query.Node_ExplainStmt:
		return "EXPLAIN"
	case *pg_query.Node_PrepareStmt:
		return "PREPARE"
	case *pg_query.Node_CopyStmt:
		return "COPY"
	case *pg_query.Node_CreateTableAsStmt:
		return "CREATE TABLE AS"
	case *pg_query.Node_DeclareCursorStmt:
		return "DECLARE CURSOR"
	default:
		return placeStored
	}
	sel := stmt.GetSelectStmt()
	switch {
	case sel.WithClause != nil:
		return "a statement with WITH"
	case sel.Op != pg_query.SetOperation_SETOP_NONE:
		return "UNION, INTERSECT or EXCEPT"
	case len(sel.ValuesLists) > 0:
		return "VALUES"
	case sel.IntoClause != nil:
		return "SELECT INTO"
	case tree.ClauseOf(sel) != "":
		return "a SELECT with " + tree.ClauseOf(sel)
	case len(sel.FromClause) == 0:
		if tree.HasOutside(st.isSet, sel.TargetList...) {
			return "a target list with a set"
		}
		return ""
	case len(sel.FromClause) > 1 || !st.isPreludeItem(sel.FromClause[0]):
		return "a SELECT from anything else"
	case tree.Has(st.isPrelude, sel.TargetList...):
		return "the target list of a SELECT with FROM"
	}
	return ""
}

// isPreludeItem reports whether an item of FROM is a call that needs a prelude statement, and nothing else.
func (st *statement) isPreludeItem(n *pg_query.Node) bool {
	rf := n.GetRangeFunction()
	return rf != nil && !rf.IsRowsfrom && st.isPrelude(rf.Functions[0].GetList().GetItems()[0].GetFuncCall())
}

// isPrelude reports whether n is a call that needs a prelude statement.
func (st *statement) isPrelude(n any) bool {
	fc, ok := n.(*pg_query.FuncCall)
	if !ok || fc == nil {
		return false
	}
	c := st.callOf(fc)
	return c != nil && c.Match.Func.Prelude
}

// boundArgs returns those parameters of a call with a prelude statement whose arguments the
// statement must hold though it does not use them: for the parameters of the protocol in them, and
// for what is wrong with them.
func (c *call) boundArgs() []sqlfuncs.Param {
	if !c.Match.Func.Prelude {
		return nil
	}
	var out []sqlfuncs.Param
	for _, p := range c.Match.Func.Visible() {
		if g := c.values[p.Name]; g.Param > 0 || len(g.Parts) > 0 || g.Computed != (lex.Span{}) {
			out = append(out, p)
		}
	}
	return out
}

func (st *statement) preludesBelow(n *pg_query.Node) bool { return tree.Has(st.isPrelude, n) }

// isSet reports whether n is a call of a function that yields a set. What stands beside a set is evaluated once for each of its rows.
func (st *statement) isSet(n any) bool {
	fc, ok := n.(*pg_query.FuncCall)
	if !ok {
		return false
	}
	if c := st.callOf(fc); c != nil {
		return c.Match.Func.Set
	}
	return st.isForeignSet(n)
}

// isForeignSet is isSet without our functions: for the usual ones of Postgres, which are known by name.
func (st *statement) isForeignSet(n any) bool {
	fc, ok := n.(*pg_query.FuncCall)
	if !ok || st.callOf(fc) != nil {
		return false
	}
	switch strings.ToLower(tree.NameOf(fc.Funcname[len(fc.Funcname)-1])) {
	case "generate_series", "generate_subscripts", "unnest", "regexp_matches", "regexp_split_to_table", "string_to_table",
		"json_array_elements", "json_array_elements_text", "jsonb_array_elements", "jsonb_array_elements_text",
		"json_each", "json_each_text", "jsonb_each", "jsonb_each_text", "json_object_keys", "jsonb_object_keys",
		"jsonb_path_query", "each", "skeys", "svals":
		return true
	}
	return false
}

// writes reports whether n is a call of ours that has an effect and yields one value.
func (st *statement) writes(n any) bool {
	fc, _ := n.(*pg_query.FuncCall)
	c := st.callOf(fc)
	return c != nil && c.Match.Func.Effect == sqlfuncs.Writes && !c.Match.Func.Set
}

// isCallOrSubLink reports whether n is a call of ours or a subquery in an expression.
func (st *statement) isCallOrSubLink(n any) bool {
	fc, _ := n.(*pg_query.FuncCall)
	return st.callOf(fc) != nil || tree.IsSubLink(n)
}
