package proxytest

import (
	"bytes"
	"context"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// Marking is a Rewriter for tests. A text that contains mbus4 gets a comment put before it and
// reports about it get their position corrected, so that all replies must be those of a direct
// connection; a report corrected for the wrong statement shows.
type Marking struct {
	SQL
	// Visible also appends to reports whose plan they went through.
	Visible bool
}

// Marked is what is put before a text.
const Marked = "/* twenty-seven bytes ... */"

// Mentions reports whether a text contains mbus4.
func (Marking) Mentions(text []byte) bool { return bytes.Contains(text, []byte("mbus4")) }

// Rewrite marks the text; one with mbus4.panic panics, one with mbus4.forward passes.
func (r Marking) Rewrite(_ context.Context, sc statements.Context, text string) statements.Plan {
	if strings.Contains(text, "mbus4.panic") {
		panic("asked to")
	}
	if strings.Contains(text, "mbus4.forward") {
		return nil
	}
	p := &markingPlan{text: text, sql: Marked + text, shift: len(Marked), visible: r.Visible}
	switch {
	case strings.HasPrefix(text, MarkLate) && !sc.Simple:
		p.late = true
		p.sql += armed
	case strings.HasPrefix(text, MarkHide) && sc.Simple && !strings.Contains(text, ";"):
		p.sql = padding + text + ";" + padding
		p.shift = len(padding)
		p.hidden = []int{0, 2}
	}
	return p
}

// EditReport takes away the mark of a report without a plan.
func (r Marking) EditReport(_ string, rep *pgproto3.ErrorResponse) bool {
	if r.Visible && strings.HasPrefix(rep.Message, "marker: ") {
		rep.Message = strings.TrimPrefix(rep.Message, "marker: ")
		rep.Code = "MB001"
		rep.Hint = "edited without a plan"
		return true
	}
	return false
}

// Texts that begin with these have plans with steps and hidden statements. A late one may end in a
// list of tables, to which armed is added: that fails unless the step, and nothing else late, has
// run before. Both are functions of the test's cluster, see harness_test.go.
const (
	MarkLate = "/*mbus4 late*/"
	MarkHide = "/*mbus4 hide*/"
	armed    = ", consume_step()"
	armStep  = "select arm_step()"
	padding  = "do $$ begin end $$;"
)

type markingPlan struct {
	text    string
	sql     string
	shift   int
	hidden  []int
	late    bool
	visible bool
}

func (p *markingPlan) SQL() string { return p.sql }

func (p *markingPlan) Size() int { return len(p.sql) }

func (p *markingPlan) EditReport(rep *pgproto3.ErrorResponse, _ int) bool {
	changed := false
	if rep.Position > int32(p.shift) {
		rep.Position -= int32(p.shift)
		changed = true
	}
	if p.visible {
		rep.Message += " [" + p.text + "]"
		changed = true
	}
	return changed
}

func (p *markingPlan) HiddenTags() []int { return p.hidden }

func (p *markingPlan) BindTime() bool { return p.late }

func (p *markingPlan) Prelude(context.Context, statements.Context, wire.Values) statements.Plan {
	return &markingPlan{text: armStep, sql: armStep, visible: p.visible}
}

// Tag leaves the server's.
func (p *markingPlan) Tag() string { return "" }

// EndsTransaction reports false: no step does.
func (p *markingPlan) EndsTransaction() bool { return false }

// Signals reports false: nobody wants to be told.
func (p *markingPlan) Signals(bool, statements.Signals) statements.Signals { return 0 }

// Ran counts nothing.
func (p *markingPlan) Ran(bool) {}

// AfterTransaction is not called.
func (p *markingPlan) AfterTransaction(statements.Signals) {}
