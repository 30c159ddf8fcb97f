package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"mbusproxy/proxy/pipeline/refuse"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// holding knows of the message at hand and whether the Rewriter has it, so that a cancel request reaches it there.
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
	// atHand is set from when a message is taken up of which the Rewriter or a plan is asked until it is dealt with. The looks for a statement that waits,
	// and its waits, are part of that.
	atHand bool
	// canceled is the client's cancel of the message at hand; nil: there is none.
	canceled *Cancellation
}

// Cancellation is a cancel request for the message at hand.
type Cancellation struct {
	// known is closed when the message has been dealt with; before that spent is set where it fails for it.
	known chan struct{}
	spent bool
}

// Spent waits until the message has been dealt with, or until ctx ends, and reports whether it fails because it was cancelled.
func (c *Cancellation) Spent(ctx context.Context) bool {
	select {
	case <-c.known:
		return c.spent
	case <-ctx.Done():
		return false
	}
}

// lookEvery is the time between calls of look, lookWaiting that for a statement that waits: before such a one runs, gone is asked. A client that has ended its sending only is still there: it waits for
// the result.
const (
	lookEvery   = time.Second
	lookWaiting = 10 * time.Second
)

// errCanceled is the cause with which the context of a Rewriter's call ends when the client cancels.
var errCanceled = errors.New("canceling statement due to user request")

// begin is called before the Rewriter gets a statement; end must be called after it. ctx is for the call. canceled is as for spend.
func (h *holding) begin(parent context.Context) (ctx context.Context, end func() (canceled bool)) {
	ctx, cancel := context.WithCancelCause(parent)
	h.mu.Lock()
	h.cancel = cancel
	if h.canceled != nil {
		cancel(errCanceled)
	}
	h.startLooking()
	h.mu.Unlock()
	return ctx, func() bool {
		h.giveUp()
		cancel(nil)
		return h.spend()
	}
}

// giveUp is called when the Rewriter has answered, and when the session ends: then nobody waits for its answer any more.
func (h *holding) giveUp() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cancel = nil
	h.stopLooking()
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

// take is called when a message is taken up, also when one is that was set aside, and letGo when it has been dealt with.
func (h *holding) take() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.atHand = true
}

func (h *holding) letGo() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.canceled != nil {
		close(h.canceled.known)
	}
	h.atHand, h.canceled = false, nil
}

// takeUp and letGo enclose what is done with a message of which the Rewriter or a plan is asked.
func (f *ClientFlow) takeUp() {
	if !f.held {
		f.held = true
		f.holding.take()
	}
}

func (f *ClientFlow) letGo() {
	if f.held {
		f.held = false
		f.holding.letGo()
	}
}

// spend reports whether the client has cancelled the message at hand, which must fail then.
func (h *holding) spend() (canceled bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.canceled != nil {
		h.canceled.spent = true
	}
	return h.canceled != nil
}

// held reports whether there is a statement that the Rewriter has, or that waits.
func (h *holding) held() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cancel != nil || h.asleep
}

// sleep is called when a statement is to wait for its turn; wake is called when there is something to see to, perhaps before sleep returns.
func (h *holding) sleep(wake func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asleep, h.awake, h.ended, h.wake = true, false, nil, wake
	switch {
	case h.canceled != nil:
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

// Unit is how many units of messages the client has sent, each of which ends with a message that the server replies to at once: Query, FunctionCall, Sync. It
// may be called from anywhere.
func (f *ClientFlow) Unit() uint64 { return f.units.Load() }

// Cancel cancels the message at hand, if it is one of the unit behind so many; nil: it is not, or there is none. A query of ours for it may be at the server. It
// may be called from anywhere.
//
// Whoever asks for the unit when the cancel request comes, and then whether others are before it at the server, does not cancel what was sent
// later.
func (f *ClientFlow) Cancel(unit uint64) *Cancellation {
	h := &f.holding
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.atHand || f.Unit() != unit {
		return nil
	}
	if h.canceled == nil {
		h.canceled = &Cancellation{known: make(chan struct{})}
		if h.cancel != nil {
			h.cancel(errCanceled)
		}
		if h.asleep {
			h.end(errCanceled)
		}
	}
	return h.canceled
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

// rewritten asks the Rewriter for the plan of a text. One that is cancelled meanwhile fails.
func (f *ClientFlow) rewritten(ctx context.Context, sc statements.Context, text string) statements.Plan {
	if f.probing.canceled {
		return refuse.Canceled()
	}
	ctx, end := f.holding.begin(ctx)
	plan := f.rewriter.Rewrite(ctx, sc, text)
	if end() {
		return refuse.Canceled()
	}
	return plan
}

// prelude asks a bind-time plan for the prelude statement of a Bind. refused is what the Bind fails with if it is cancelled
// meanwhile.
func (f *ClientFlow) prelude(ctx context.Context, plan statements.Plan, voids []int, values wire.Values) (prelude, refused statements.Plan) {
	ctx, end := f.holding.begin(ctx)
	prelude = plan.Prelude(ctx, f.context(false, voids), values)
	if end() {
		return nil, refuse.Canceled()
	}
	return prelude, nil
}
