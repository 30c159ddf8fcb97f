package proxy

import (
	"bytes"
	"context"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// marking is a Rewriter for tests. A text that contains mbus4 gets a comment put before it and
// reports about it get their position corrected, so that all replies must be those of a direct
// connection; a report corrected for the wrong statement shows.
type marking struct {
	// visible also appends to reports whose plan they went through.
	visible bool
}

const marked = "/* twenty-seven bytes ... */"

func (marking) Mentions(text []byte) bool { return bytes.Contains(text, []byte("mbus4")) }

func (r marking) Rewrite(_ context.Context, _ StatementContext, text string) Plan {
	if strings.Contains(text, "mbus4.panic") {
		panic("asked to")
	}
	if strings.Contains(text, "mbus4.forward") {
		return nil
	}
	return &markingPlan{text: text, visible: r.visible}
}

func (r marking) EditReport(rep *pgproto3.ErrorResponse) bool {
	if r.visible && strings.HasPrefix(rep.Message, "marker: ") {
		rep.Message = strings.TrimPrefix(rep.Message, "marker: ")
		rep.Code = "MB001"
		rep.Hint = "edited without a plan"
		return true
	}
	return false
}

type markingPlan struct {
	text    string
	visible bool
}

func (p *markingPlan) SQL() string { return marked + p.text }

func (p *markingPlan) EditReport(rep *pgproto3.ErrorResponse) bool {
	changed := false
	if rep.Position > int32(len(marked)) {
		rep.Position -= int32(len(marked))
		changed = true
	}
	if p.visible {
		rep.Message += " [" + p.text + "]"
		changed = true
	}
	return changed
}

func (p *markingPlan) Hidden() []int { return nil }

func (p *markingPlan) Late() bool { return false }

func (p *markingPlan) Bound(context.Context, StatementContext, Values) Plan { return nil }
