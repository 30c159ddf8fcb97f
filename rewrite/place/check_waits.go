package place

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/plan"
	"mbusproxy/sqlfuncs"
)

// waits reports whether the call says how long it waits. One that says null does not wait.
func (c *call) waits() bool {
	a, given := c.Args[c.Match.Func.Wait]
	if !given {
		return false
	}
	n := a.Node
	for tc := n.GetTypeCast(); tc != nil; tc = n.GetTypeCast() {
		n = tc.Arg
	}
	return !n.GetAConst().GetIsnull()
}

// checkWaits refuses calls that wait where the wait cannot come before the statement: it must be
// certain that Postgres would evaluate the call, once, and only this one of the text may wait. It
// is called when the calls have been placed. alone says that the text is one statement.
func (st *statement) checkWaits(stmt *pg_query.Node, alone bool) *plan.Refusal {
	waiting := 0
	for _, c := range st.calls {
		if !c.waits() {
			continue
		}
		waiting++
		where := ""
		switch {
		case len(c.Match.Readings) > 1:
			where = "a name that can be read in several ways"
		case st.hasPreludes():
			where = "a statement with calls that run statements of their own"
		case !alone:
			where = "a text of several statements"
		case waiting > 1:
			where = "a statement with two calls that wait"
		case !runsAtOnce(stmt):
			where = "a statement of this kind"
		case !c.once:
			where = "a place where it may be evaluated more than once, or not at all"
		default:
			continue
		}
		return &plan.Refusal{
			Code:    codeFeatureNotSupported,
			Message: fmt.Sprintf("%s.%s cannot wait here", sqlfuncs.Schema, c.Match.Name),
			Detail:  "It stands in " + where + ".",
			Hint:    fmt.Sprintf("Let it wait in a statement of its own, for example: select * from %s.%s(…, wait => '30s').", sqlfuncs.Schema, c.Match.Name),
			Offset:  c.Start,
		}
	}
	return nil
}

func (st *statement) hasPreludes() bool {
	return slices.ContainsFunc(st.calls, func(c *call) bool { return c.Match.Func.Prelude })
}

// runsAtOnce reports whether to execute the statement is to evaluate what stands in it.
func runsAtOnce(stmt *pg_query.Node) bool {
	switch stmt.Node.(type) {
	case *pg_query.Node_SelectStmt, *pg_query.Node_InsertStmt, *pg_query.Node_UpdateStmt, *pg_query.Node_DeleteStmt, *pg_query.Node_MergeStmt:
		return true
	}
	return false
}
