package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"mbusproxy/proxy/wire"
)

// holding knows whether the Rewriter has a statement of the session, so that a cancel request reaches it there.
type holding struct {
	// look is called from time to time while the Rewriter has a statement, to end a session whose client is
	// gone; nil in tests.
	look func()
	// gone reports whether the client of a statement that waits is gone; nil in tests.
	gone func() bool

	mu       sync.Mutex
	cancel   context.CancelCauseFunc // nil: none is
	waits    bool                    // what it has is a statement that waits
	draining bool                    // none may wait any more
	// pending is set from the first look for a statement that waits until it is known that it runs or fails, and canceled where the client has
	// cancelled it meanwhile. The looks between two waits are part of the statement.
	pending, canceled bool
}

// lookEvery is the time between calls of look, lookWaiting that for a statement that waits: before such a one runs, gone is asked. A client that has ended its sending only is still there: it waits for
// the result.
const (
	lookEvery   = time.Second
	lookWaiting = 10 * time.Second
)

// errCanceled is the cause with which the context of a Rewriter's call ends when the client cancels.
var errCanceled = errors.New("canceling statement due to user request")

// begin is called before the Rewriter gets a statement; end must be called after it. ctx is for the call.
func (h *holding) begin(parent context.Context) (ctx context.Context, end func() (canceled bool)) {
	ctx, cancel := context.WithCancelCause(parent)
	var looking *time.Timer
	h.mu.Lock() // the timer's function takes it as well, and so sees looking
	h.cancel = cancel
	if h.look != nil {
		looking = time.AfterFunc(lookEvery, func() {
			if held, waits := h.held(); held {
				h.look()
				every := lookEvery
				if waits {
					every = lookWaiting
				}
				looking.Reset(every)
			}
		})
	}
	h.mu.Unlock()
	return ctx, func() bool {
		if looking != nil {
			looking.Stop()
		}
		h.mu.Lock()
		h.cancel = nil
		h.mu.Unlock()
		cancel(nil)
		return errors.Is(context.Cause(ctx), errCanceled)
	}
}

// held reports whether the Rewriter has a statement, and whether it waits.
func (h *holding) held() (is, waits bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cancel != nil, h.waits
}

// interrupt cancels the statement that the Rewriter has; false: it has none.
func (h *holding) interrupt() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cancel == nil {
		return false
	}
	h.cancel(errCanceled)
	return true
}

// setWaiting says whether the statement waits, between begin and its end.
func (h *holding) setWaiting(is bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch h.waits = is; {
	case is && h.canceled:
		h.cancel(errCanceled)
	case is && h.draining:
		h.cancel(errDraining)
	}
}

// beginWait and endWait enclose pending; canceled is what it says at its end.
func (h *holding) beginWait() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending, h.canceled = true, false
}

func (h *holding) endWait() (canceled bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending = false
	return h.canceled
}

// CancelWait cancels the statement that waits, or is looked for between two waits; false: none is. A query of ours for it may be at the
// server. It may be called from anywhere.
func (f *ClientFlow) CancelWait() bool {
	h := &f.holding
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.pending {
		return false
	}
	if h.canceled = true; h.waits {
		h.cancel(errCanceled)
	}
	return true
}

// Waits reports whether a statement of the session waits.
func (f *ClientFlow) Waits() bool {
	f.holding.mu.Lock()
	defer f.holding.mu.Unlock()
	return f.holding.waits
}

// EndWaits has the statement that waits fail, and every later one that would, because the session is to end. It may be called from anywhere.
func (f *ClientFlow) EndWaits() {
	h := &f.holding
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining = true; h.waits {
		h.cancel(errDraining)
	}
}

// WithRewriter reports whether a statement of the session is with the Rewriter.
func (f *ClientFlow) WithRewriter() bool {
	is, _ := f.holding.held()
	return is
}

// Interrupt cancels the statement that is with the Rewriter; false: none is.
func (f *ClientFlow) Interrupt() bool { return f.holding.interrupt() }

// rewritten asks the Rewriter for the plan of a text. One that is cancelled meanwhile fails.
func (f *ClientFlow) rewritten(ctx context.Context, sc StatementContext, text string) Plan {
	if f.probing.canceled {
		return canceled()
	}
	ctx, end := f.holding.begin(ctx)
	plan := f.rewriter.Rewrite(ctx, sc, text)
	if end() {
		return canceled()
	}
	return plan
}

// prelude asks a bind-time plan for the prelude statement of a Bind. refused is what the Bind fails with if it is cancelled
// meanwhile.
func (f *ClientFlow) prelude(ctx context.Context, plan Plan, voids []int, values wire.Values) (prelude, refused Plan) {
	ctx, end := f.holding.begin(ctx)
	prelude = plan.Prelude(ctx, f.context(false, voids), values)
	if end() {
		return nil, canceled()
	}
	return prelude, nil
}
