package proxytest

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// Stepping is a Rewriter for tests of prelude statements. A text with /*late STEP*/ has a bind-time plan whose prelude
// statement is STEP, with {n} replaced by what Prelude was given of parameter n; none when STEP is empty. One with
// /*hide 0 2*/ hides these statements. The text itself stays. Reports show the plan they went
// through.
type Stepping struct {
	SQL
	Mu    sync.Mutex
	Asked []string // the prelude statements that Prelude returned
}

var (
	// LateMark finds the prelude statement of a bind-time plan.
	LateMark = regexp.MustCompile(`/\*late (.*?)\*/`)      //nolint:gochecknoglobals // a constant
	hideMark = regexp.MustCompile(`/\*hide ([0-9 ]*?)\*/`) //nolint:gochecknoglobals // a constant
)

// Mentions reports whether there is a mark.
func (r *Stepping) Mentions(text []byte) bool { return LateMark.Match(text) || hideMark.Match(text) }

// EditReport changes nothing.
func (r *Stepping) EditReport(string, *pgproto3.ErrorResponse) bool { return false }

// Rewrite makes the plan that the marks ask for.
func (r *Stepping) Rewrite(_ context.Context, sc statements.Context, text string) statements.Plan {
	p := &SteppingPlan{Rewriter: r, Name: "plan", Text: text}
	if m := hideMark.FindStringSubmatch(text); m != nil && sc.Simple {
		for _, n := range strings.Fields(m[1]) {
			i, _ := strconv.Atoi(n)
			p.hidden = append(p.hidden, i)
		}
	}
	if m := LateMark.FindStringSubmatch(text); m != nil && !sc.Simple {
		p.late, p.step = true, m[1]
	}
	return p
}

// SteppingPlan is a plan of a Stepping.
type SteppingPlan struct {
	Rewriter   *Stepping
	Name, Text string
	hidden     []int
	late       bool
	step       string
}

// SQL is the text itself.
func (p *SteppingPlan) SQL() string { return p.Text }

// Size is that of the text.
func (p *SteppingPlan) Size() int { return len(p.Text) }

// HiddenTags are those of the mark.
func (p *SteppingPlan) HiddenTags() []int { return p.hidden }

// BindTime reports whether there is a mark for it.
func (p *SteppingPlan) BindTime() bool { return p.late }

// EditReport names the plan.
func (p *SteppingPlan) EditReport(r *pgproto3.ErrorResponse, _ int) bool {
	r.Message += " [" + p.Name + "]"
	return true
}

// Prelude returns the prelude statement, with the values put in.
func (p *SteppingPlan) Prelude(_ context.Context, sc statements.Context, values wire.Values) statements.Plan {
	step := p.step
	for n := 1; n <= values.Len(); n++ {
		v, _ := values.Get(n)
		shown := fmt.Sprintf("%d:%s", v.Format, v.Bytes)
		if v.Format == 1 {
			shown = fmt.Sprintf("1:%x", v.Bytes)
		}
		if v.Null {
			shown = "null"
		}
		step = strings.ReplaceAll(step, fmt.Sprintf("{%d}", n), shown)
	}
	if !values.Known() {
		step = strings.ReplaceAll(step, "{1}", "unknown")
	}
	if sc.Simple || sc.Database != "postgres" {
		step = "wrong context"
	}
	p.Rewriter.Mu.Lock()
	p.Rewriter.Asked = append(p.Rewriter.Asked, step)
	p.Rewriter.Mu.Unlock()
	if step == "" {
		return nil
	}
	return &SteppingPlan{Rewriter: p.Rewriter, Name: "step", Text: step}
}

// Tag leaves the server's.
func (p *SteppingPlan) Tag() string { return "" }

// EndsTransaction reports whether a prelude statement ends the transaction, which none of these does.
func (p *SteppingPlan) EndsTransaction() bool { return false }

// Signals reports whether AfterTransaction is to be called, which the tests do not need.
func (p *SteppingPlan) Signals(bool, statements.Signals) statements.Signals { return 0 }

// Ran counts nothing.
func (p *SteppingPlan) Ran(bool) {}

// AfterTransaction is not called.
func (p *SteppingPlan) AfterTransaction(statements.Signals) {}
