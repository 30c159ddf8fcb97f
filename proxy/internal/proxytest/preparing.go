package proxytest

import (
	"bytes"
	"context"
	"hash/fnv"
	"strconv"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/statements"
)

// Preparing is a Rewriter for tests of statements that the proxy prepares: each text that begins as
// PreparingMark is run by one when it comes again. Of its parameters it has none.
type Preparing struct {
	SQL
	// AtOnce says that Recall knows all plans.
	AtOnce bool
}

// PreparingMark begins a text that Preparing has a Plan for.
const PreparingMark = "/*mbus4*/"

// Mentions reports whether there is a mark.
func (Preparing) Mentions(text []byte) bool { return bytes.Contains(text, []byte(PreparingMark)) }

// Rewrite makes a plan of the text as it is.
func (Preparing) Rewrite(_ context.Context, _ statements.Context, text string) statements.Plan {
	return preparingPlan{&SteppingPlan{Name: "plan", Text: text}}
}

// Recall is Rewrite if all plans are known.
func (r Preparing) Recall(sc statements.Context, text []byte) (statements.Plan, bool) {
	if !r.AtOnce {
		return nil, false
	}
	return r.Rewrite(context.Background(), sc, string(text)), true
}

// EditReport changes nothing.
func (Preparing) EditReport(string, *pgproto3.ErrorResponse) bool { return false }

type preparingPlan struct{ *SteppingPlan }

func (p preparingPlan) Prepared() statements.PreparedPlan { return p }
func (preparingPlan) Repeatable() bool                    { return true }
func (p preparingPlan) Repeated() statements.Repeated {
	return statements.Repeated{Plan: p, Text: p.Text}
}
func (preparingPlan) Values() []string { return nil }

// ID is of the text.
func (p preparingPlan) ID() string {
	h := fnv.New64()
	_, _ = h.Write([]byte(p.Text))
	return strconv.FormatUint(h.Sum64(), 10)
}
