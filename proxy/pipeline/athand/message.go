package athand

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Message knows of the message at hand and whether the Rewriter has it, so that a cancel request reaches it there.
type Message struct {
	// look and gone are as in Watch; nil in tests.
	look func()
	gone func() bool

	units atomic.Uint64 // see Unit

	mu       sync.Mutex
	cancel   context.CancelCauseFunc // of the call of the Rewriter that has a statement; nil: it has none
	looking  *time.Timer             // of look
	draining bool                    // no statement may wait any more
	left     bool                    // the same, since nobody wants it
	// asleep says that there is a statement that waits for its turn, awake that it is worth while
	// to see to it, and ended why its wait has ended, if it was ended from outside. wake is called
	// when awake is set.
	asleep, awake bool
	ended         error
	wake          func()
	// atHand is set from when a message is taken up of which the Rewriter or a plan is asked until
	// it is dealt with. The looks for a statement that waits, and its waits, are part of that.
	atHand bool
	// canceled is the client's cancel of the message at hand; nil: there is none.
	canceled *Cancellation
}

// Watch is called once, before anything else. look is called from time to time while the Rewriter
// has a statement, to end a session whose client is gone, and gone reports whether the client of a
// statement that waits is gone.
func (m *Message) Watch(look func(), gone func() bool) { m.look, m.gone = look, gone }

// lookEvery is the time between calls of look, lookWaiting that for a statement that waits: before
// such a one runs, gone is asked. A client that has ended its sending only is still there: it waits
// for the result.
const (
	lookEvery   = time.Second
	lookWaiting = 10 * time.Second
)

// Begin is called before the Rewriter gets a statement; end must be called after it. ctx is for the
// call. canceled is as for Spend.
func (m *Message) Begin(parent context.Context) (ctx context.Context, end func() (canceled bool)) {
	ctx, cancel := context.WithCancelCause(parent)
	m.mu.Lock()
	m.cancel = cancel
	if m.canceled != nil {
		cancel(ErrCanceled)
	}
	m.startLooking()
	m.mu.Unlock()
	return ctx, func() bool {
		m.GiveUp()
		cancel(nil)
		return m.Spend()
	}
}

// GiveUp is called when the Rewriter has answered, and when the session ends: then nobody waits for
// its answer any more.
func (m *Message) GiveUp() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cancel = nil
	m.stopLooking()
}

// startLooking has look called from time to time, and stopLooking no more. m.mu is held.
func (m *Message) startLooking() {
	if m.look != nil {
		m.looking = time.AfterFunc(lookEvery, m.lookAgain)
	}
}

func (m *Message) stopLooking() {
	if m.looking != nil {
		m.looking.Stop()
		m.looking = nil
	}
}

func (m *Message) lookAgain() {
	if !m.held() {
		return
	}
	m.look()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.looking == nil:
	case m.asleep:
		m.looking.Reset(lookWaiting)
	default:
		m.looking.Reset(lookEvery)
	}
}

// Take is called when a message is taken up, also when one is that was set aside.
func (m *Message) Take() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.atHand = true
}

// LetGo is called when the message has been dealt with.
func (m *Message) LetGo() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.canceled != nil {
		close(m.canceled.known)
	}
	m.atHand, m.canceled = false, nil
}

// held reports whether there is a statement that the Rewriter has, or that waits.
func (m *Message) held() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cancel != nil || m.asleep
}
