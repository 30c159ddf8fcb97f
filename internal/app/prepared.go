package app

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/pipeline"
	"mbusproxy/rewrite/plan"
)

// Prepared returns how the plan's text is run by a prepared statement, or nil.
func (p wirePlan) Prepared() pipeline.PreparedPlan {
	prepared := p.Plan.Prepared()
	if prepared == nil || p.db == nil {
		return nil
	}
	return preparedPlan{p, prepared}
}

// preparedPlan is the pipeline.PreparedPlan of a plan.Prepared.
type preparedPlan struct {
	wirePlan
	prepared *plan.Prepared
}

func (p preparedPlan) SQL() string      { return p.prepared.SQL() }
func (p preparedPlan) ID() uint64       { return p.prepared.ID() }
func (p preparedPlan) Values() []string { return p.prepared.Values() }

// EditReport edits a report about the statement or its parameters.
func (p preparedPlan) EditReport(m *pgproto3.ErrorResponse) bool {
	return edit(m, p.prepared.EditReport)
}
