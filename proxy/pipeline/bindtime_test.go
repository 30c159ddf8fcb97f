package pipeline_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/statements"
)

// TestParseFailsDuringBind: the server may say that a Parse has failed at any moment while the Bind
// behind it is looked at, for the two directions do not wait for one another.
func TestParseFailsDuringBind(t *testing.T) {
	bind := &pgproto3.Bind{PreparedStatement: "s"}
	want := dialogue{t, newFlows(proxytest.Marking{})}.send(bind)
	for looks := 1; ; looks++ {
		r := &lookedAt{left: -1}
		d := dialogue{t, newFlows(r)}
		d.send(&pgproto3.Parse{Name: "s", Query: proxytest.MarkLate + " selct"})
		r.during = func() {
			d.reply(&pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "42601", Message: "syntax error"})
		}
		r.left = looks
		if got := d.send(bind); got != want {
			t.Errorf("at look %d: the server gets %s, want %s", looks, got, want)
		}
		if r.left > 0 {
			if looks < 3 {
				t.Errorf("the plan is not asked more than %d times", looks-1)
			}
			return
		}
	}
}

// lookedAt is a Rewriter that calls during when its plans have been asked left times whether they
// are bind-time plans.
type lookedAt struct {
	proxytest.Marking
	left   int
	during func()
}

func (r *lookedAt) Rewrite(ctx context.Context, sc statements.Context, text string) statements.Plan {
	return lookedAtPlan{r.Marking.Rewrite(ctx, sc, text), r}
}

type lookedAtPlan struct {
	statements.Plan
	r *lookedAt
}

func (p lookedAtPlan) BindTime() bool {
	if p.r.left--; p.r.left == 0 {
		p.r.during()
	}
	return p.Plan.BindTime()
}
