package proxy

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"
)

// holding tells whether a statement of the session is with the Rewriter, so that a cancel request reaches it
// there.
type holding struct {
	// look is called from time to time while the Rewriter has a statement, to end a session whose client is
	// gone; nil in tests.
	look func()

	mu     sync.Mutex
	cancel context.CancelCauseFunc // nil: none is
}

// lookEvery is how often it is looked whether the client of a statement with the Rewriter is still there. One that has
// only ended its sending waits for the result.
const lookEvery = time.Second

// errCanceled is the cause with which the context of a Rewriter's call ends when the client cancels.
var errCanceled = errors.New("canceling statement due to user request")

// hold is called before the Rewriter gets a statement; letGo must be called after it. ctx is for the call.
func (h *holding) hold(parent context.Context) (ctx context.Context, letGo func() (canceled bool)) {
	ctx, cancel := context.WithCancelCause(parent)
	var looking *time.Timer
	h.mu.Lock() // the timer's function takes it as well, and so sees looking
	h.cancel = cancel
	if h.look != nil {
		looking = time.AfterFunc(lookEvery, func() {
			if h.held() {
				h.look()
				looking.Reset(lookEvery)
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

// held reports whether the Rewriter has a statement.
func (h *holding) held() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cancel != nil
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

// rewritten asks the Rewriter for the plan of a text. One that is cancelled meanwhile fails.
func (f *clientFlow) rewritten(ctx context.Context, sc StatementContext, text string) Plan {
	if f.asking.canceled {
		return canceled()
	}
	ctx, letGo := f.holding.hold(ctx)
	plan := f.rewriter.Rewrite(ctx, sc, text)
	if letGo() {
		return canceled()
	}
	return plan
}

// bound asks a late plan for the step of a Bind, which is not sent if it is cancelled meanwhile.
func (f *clientFlow) bound(ctx context.Context, plan Plan, voids []int, values Values) (step, refused Plan) {
	ctx, letGo := f.holding.hold(ctx)
	step = plan.Bound(ctx, f.context(false, voids), values)
	if letGo() {
		return nil, canceled()
	}
	return step, nil
}

// cancelHeld cancels the statement of the session that the Rewriter has, if it is the one that runs. done means
// that the server has nothing to do with the request.
//
// A server that owes the reply to a Query or Sync has not come to that statement. One that owes
// other replies may still be busy, or may hold them back until Sync. Then it gets the request as well: what
// it fails in comes before the statement in the same run of messages, and the statement is skipped.
func (s *session) cancelHeld(ctx context.Context) (done bool) {
	if !s.up.holding.held() {
		return false
	}
	now, ok := s.standing(ctx)
	return ok && now.ends == 0 && s.up.holding.interrupt() && now.owing == 0
}

// standing is where the server stands.
func (s *session) standing(ctx context.Context) (now standing, ok bool) {
	if s.lanes == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		now = s.stands()
		for i := range s.inbox {
			if s.inbox[i].kind.flushes() {
				now.ends++
			}
		}
		return now, true
	}
	answer := make(chan standing, 1)
	s.lanes.ask(answer)
	select {
	case now = <-answer:
		return now, true
	case <-ctx.Done():
		return standing{}, false
	}
}

// lookForClient ends the session if the connection of its client is broken.
func (s *session) lookForClient() {
	if s.lanes != nil {
		s.lanes.lookForClient()
		return
	}
	lost := false
	_ = s.clientLink.raw.Control(func(fd uintptr) { lost = broken(int(fd)) })
	if lost {
		s.stop()
	}
}

// broken reports whether a socket has an error, such as a reset by the peer.
func broken(fd int) bool {
	e, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_ERROR)
	return err == nil && e != 0
}
