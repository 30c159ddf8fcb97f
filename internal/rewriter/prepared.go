package rewriter

import (
	"strconv"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/statements"
	"mbusproxy/rewrite/plan"
)

// Prepared returns how the plan's text is run by a prepared statement, or nil.
func (p wirePlan) Prepared() statements.PreparedPlan {
	prepared := p.Plan.Prepared()
	if prepared == nil || p.db == nil {
		return nil
	}
	return preparedPlan{p, prepared}
}

// Repeatable reports whether a statement may be prepared from the plan's SQL once for all times
// that the text comes in a Parse.
func (p wirePlan) Repeatable() bool { return p.db != nil && p.Plan.Repeatable() }

// Repeated returns the plan by which such a statement is prepared.
func (p wirePlan) Repeated() statements.Repeated {
	out := statements.Repeated{Plan: repeatedPlan{p}, Text: p.ClientText()}
	if out.Extra = p.TraceKept(); out.Extra != "" {
		out.Parameters = p.Parameters()
	}
	return out
}

// repeatedPlan is the plan of a statement that is prepared once for texts that differ in their comments.
type repeatedPlan struct{ wirePlan }

// SQL returns the text without a comment.
func (p repeatedPlan) SQL() string { return p.Parameterized().SQL() }

// EditReport edits a report about the statement.
func (p repeatedPlan) EditReport(m *pgproto3.ErrorResponse, done int) bool {
	return edit(m, done, p.Parameterized().EditReport)
}

// preparedPlan is the statements.PreparedPlan of a plan.Prepared.
type preparedPlan struct {
	wirePlan
	prepared *plan.Prepared
}

func (p preparedPlan) SQL() string      { return p.prepared.SQL() }
func (p preparedPlan) ID() string       { return strconv.FormatUint(p.prepared.ID(), 10) }
func (p preparedPlan) Values() []string { return p.prepared.Values() }

// EditReport edits a report about the statement or its parameters.
func (p preparedPlan) EditReport(m *pgproto3.ErrorResponse, done int) bool {
	return edit(m, done, p.prepared.EditReport)
}
