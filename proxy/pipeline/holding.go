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
	cancel   context.CancelCauseFunc // of the call of the Rewriter that has a statement; nil: it has none
	looking  *time.Timer             // of look
	draining bool                    // no statement may wait any more
	// asleep says that there is a statement that waits for its turn, awake that it is worth while to see to it, and ended why its wait has ended, if
	// it was ended from outside. wake is called when awake is set.
	asleep, awake bool
	ended         error
	wake          func()
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
	h.mu.Lock()
	h.cancel = cancel
	h.startLooking()
	h.mu.Unlock()
	return ctx, func() bool {
		h.mu.Lock()
		h.cancel = nil
		h.stopLooking()
		h.mu.Unlock()
		cancel(nil)
		return errors.Is(context.Cause(ctx), errCanceled)
	}
}

// startLooking has look called from time to time, and stopLooking no more. h.mu is held.
func (h *holding) startLooking() {
	if h.look != nil {
		h.looking = time.AfterFunc(lookEvery, h.lookAgain)
	}
}

func (h *holding) stopLooking() {
	if h.looking != nil {
		h.looking.Stop()
		h.looking = nil
	}
}

func (h *holding) lookAgain() {
	if !h.held() {
		return
	}
	h.look()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.looking == nil:
	case h.asleep:
		h.looking.Reset(lookWaiting)
	default:
		h.looking.Reset(lookEvery)
	}
}

// held reports whether there is a statement that the Rewriter has, or that waits.
func (h *holding) held() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cancel != nil || h.asleep
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

// sleep is called when a statement is to wait for its turn; wake is called when there is something to see to, perhaps before sleep returns.
func (h *holding) sleep(wake func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asleep, h.awake, h.ended, h.wake = true, false, nil, wake
	switch {
	case h.canceled:
		h.end(errCanceled)
	case h.draining:
		h.end(errDraining)
	}
	h.startLooking()
}

// end ends the wait of the statement that is asleep from outside. h.mu is held.
func (h *holding) end(why error) {
	if h.ended == nil {
		h.ended = why
	}
	h.rouseLocked()
}

// rouse wakes the statement that is asleep.
func (h *holding) rouse() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asleep {
		h.rouseLocked()
	}
}

func (h *holding) rouseLocked() {
	if !h.awake {
		h.awake = true
		h.wake()
	}
}

func (h *holding) isAwake() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.awake
}

// why is why the wait was ended from outside; nil: it was not.
func (h *holding) why() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended
}

// endSleep is called when the statement has been seen to, and returns why.
func (h *holding) endSleep() (ended error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopLooking()
	h.asleep, h.wake = false, nil
	return h.ended
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
	if h.canceled = true; h.asleep {
		h.end(errCanceled)
	}
	return true
}

// Waits reports whether a statement of the session waits.
func (f *ClientFlow) Waits() bool {
	f.holding.mu.Lock()
	defer f.holding.mu.Unlock()
	return f.holding.asleep
}

// EndWaits has the statement that waits fail, and every later one that would, because the session is to end. It may be called from anywhere.
func (f *ClientFlow) EndWaits() {
	h := &f.holding
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining = true; h.asleep {
		h.end(errDraining)
	}
}

// WithRewriter reports whether a statement of the session is with the Rewriter, or waits.
func (f *ClientFlow) WithRewriter() bool { return f.holding.held() }

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
