package place

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

// guardCalls marks the calls without the schema that need a guard: those of statements that run
// later than the probe query that said they are ours, or more than once. later says so of the whole
// text.
func (st *statement) guardCalls(stmt *pg_query.Node, later bool) *plan.Refusal {
	if !later && stmt.GetPrepareStmt() == nil {
		return nil
	}
	bare, _ := tree.Evaluates(stmt)
	for _, c := range st.calls {
		if c.guarded = c.Unqualified; c.guarded && bare && c.Node != stmt.GetCallStmt().GetFunccall() {
			name := sqlfuncs.Schema + "." + c.Match.Name
			return &plan.Refusal{
				Code:    codeFeatureNotSupported,
				Message: fmt.Sprintf("%s cannot be called without its schema in the arguments of a prepared CALL or EXECUTE, nor in one of several statements", c.Match.Name),
				Hint:    fmt.Sprintf("Write %s(…).", name),
				Offset:  c.Start,
			}
		}
	}
	return nil
}

// guard returns an expression that is true, or fails where the call is no longer ours.
func (st *statement) guard(c *call) string {
	return st.fragments.Guard(c.candidate().Name, len(c.List), c.candidate().Named, mark(c.number))
}

// writeGuarded writes what emit does in such a way that it is evaluated only after the call's guard.
func (st *statement) writeGuarded(o *splice.Output, c *call, emit func()) {
	o.Write("(case when ", c.Start)
	st.write(o, c, st.guard(c))
	o.Write(" then ", c.Start)
	emit()
	o.Write(" end)", c.Start)
}

// mayProject reports whether Postgres might read a call without the schema as a column of a row:
// f(x) is x.f where x is a row with such a column. See plan.NoRow.
func (c *call) mayProject() bool {
	return c.Unqualified && len(c.List) == 1 && c.List[0].GetNamedArgExpr() == nil && c.List[0].GetAConst() == nil && c.List[0].GetParamRef() == nil
}
