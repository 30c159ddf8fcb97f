package proxy

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgproto3"
)

// stepping is a Rewriter for tests of steps. A text with /*late STEP*/ has a late plan whose step is
// STEP, with {n} replaced by what Bound was given of parameter n; none when STEP is empty. One with
// /*hide 0 2*/ hides these statements. The text itself stays. Reports show the plan they went
// through.
type stepping struct {
	mu    sync.Mutex
	asked []string // the steps that Bound returned
}

var (
	lateMark = regexp.MustCompile(`/\*late (.*?)\*/`)      //nolint:gochecknoglobals // a constant
	hideMark = regexp.MustCompile(`/\*hide ([0-9 ]*?)\*/`) //nolint:gochecknoglobals // a constant
)

func (r *stepping) Mentions(text []byte) bool { return lateMark.Match(text) || hideMark.Match(text) }

func (r *stepping) EditReport(string, *pgproto3.ErrorResponse) bool { return false }

func (r *stepping) Rewrite(_ context.Context, sc StatementContext, text string) Plan {
	p := &steppingPlan{rewriter: r, name: "plan", text: text}
	if m := hideMark.FindStringSubmatch(text); m != nil && sc.Simple {
		for _, n := range strings.Fields(m[1]) {
			i, _ := strconv.Atoi(n)
			p.hidden = append(p.hidden, i)
		}
	}
	if m := lateMark.FindStringSubmatch(text); m != nil && !sc.Simple {
		p.late, p.step = true, m[1]
	}
	return p
}

type steppingPlan struct {
	rewriter   *stepping
	name, text string
	hidden     []int
	late       bool
	step       string
}

func (p *steppingPlan) SQL() string   { return p.text }
func (p *steppingPlan) Hidden() []int { return p.hidden }
func (p *steppingPlan) Late() bool    { return p.late }

func (p *steppingPlan) EditReport(r *pgproto3.ErrorResponse) bool {
	r.Message += " [" + p.name + "]"
	return true
}

func (p *steppingPlan) Bound(_ context.Context, sc StatementContext, values Values) Plan {
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
	p.rewriter.mu.Lock()
	p.rewriter.asked = append(p.rewriter.asked, step)
	p.rewriter.mu.Unlock()
	if step == "" {
		return nil
	}
	return &steppingPlan{rewriter: p.rewriter, name: "step", text: step}
}

// Tag leaves the server's.
func (p *steppingPlan) Tag() string { return "" }

// EndsTransaction reports false: no step does.
func (p *steppingPlan) EndsTransaction() bool { return false }

// Signals reports true where the test wants to be told.
func (p *steppingPlan) Signals() bool { return false }

// AfterTransaction is not called.
func (p *steppingPlan) AfterTransaction() {}
