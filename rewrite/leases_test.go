package rewrite

import (
	"context"
	"sync"
	"testing"
	"time"

	"mbusproxy/rewrite/plan"
)

// Whoever has a turn at the parser asks for no other: else as many sessions as there are turns
// could wait for one another, and with them everybody. Here one text means something else in each
// of two databases, so it is read again and again, and it holds a condition that is parsed as well.
func TestRewriteHasOneTurnAtATime(t *testing.T) {
	t.Parallel()
	r := newRewriter(shortFragments{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var sessions sync.WaitGroup
	for range 16 {
		sessions.Go(func() {
			for i := range 200 {
				env := func() (plan.Env, *plan.Refusal) {
					e, refused := testEnv()
					e.Ordered = i%2 == 0
					return e, refused
				}
				p := r.Rewrite(ctx, "select * from mbus4.dyn_consume('q', 't.iid is not null')", utf8Session, env)
				if p == nil || len(p.Refused()) > 0 || ctx.Err() != nil {
					t.Error("the call is not served: its turn never came")
					return
				}
			}
		})
	}
	sessions.Wait()
}
