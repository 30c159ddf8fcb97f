package pipeline

import (
	"context"

	"mbusproxy/proxy/pipeline/athand"
	"mbusproxy/proxy/pipeline/refuse"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// takeUp and letGo enclose what is done with a message of which the Rewriter or a plan is asked.
func (f *ClientFlow) takeUp() {
	if !f.held {
		f.held = true
		f.atHand.Take()
	}
}

func (f *ClientFlow) letGo() {
	if f.held {
		f.held = false
		f.atHand.LetGo()
	}
}

// Unit is athand.Message.Unit.
func (f *ClientFlow) Unit() uint64 { return f.atHand.Unit() }

// Cancel is athand.Message.Cancel. A query of ours for the message may be at the server.
func (f *ClientFlow) Cancel(unit uint64) *athand.Cancellation { return f.atHand.Cancel(unit) }

// Waits reports whether a statement of the session waits. It may be called from anywhere.
func (f *ClientFlow) Waits() bool { return f.atHand.Asleep() }

// EndWaits has the statement that waits fail, and every later one that would, because the session
// is to end. It may be called from anywhere.
func (f *ClientFlow) EndWaits() { f.atHand.EndSleeps() }

// rewritten asks the Rewriter for the plan of a text. One that is cancelled meanwhile fails.
func (f *ClientFlow) rewritten(ctx context.Context, sc statements.Context, text string) statements.Plan {
	if f.probing.canceled {
		return refuse.Canceled()
	}
	ctx, end := f.atHand.Begin(ctx)
	plan := f.rewriter.Rewrite(ctx, sc, text)
	if end() {
		return refuse.Canceled()
	}
	return plan
}

// prelude asks a bind-time plan for the prelude statement of a Bind. refused is what the Bind fails
// with if it is cancelled meanwhile.
func (f *ClientFlow) prelude(ctx context.Context, plan statements.Plan, voids []int, values wire.Values) (prelude, refused statements.Plan) {
	ctx, end := f.atHand.Begin(ctx)
	prelude = plan.Prelude(ctx, f.context(false, voids), values)
	if end() {
		return nil, refuse.Canceled()
	}
	return prelude, nil
}
