package athand

import (
	"context"
	"errors"
)

// ErrCanceled is why a wait ends, and the cause with which the context of a Rewriter's call ends
// when the client cancels.
var ErrCanceled = errors.New("canceling statement due to user request")

// Cancellation is a cancel request for the message at hand.
type Cancellation struct {
	// known is closed when the message has been dealt with; before that spent is set where it fails for it.
	known chan struct{}
	spent bool
}

// Spent waits until the message has been dealt with, or until ctx ends, and reports whether it
// fails because it was cancelled.
func (c *Cancellation) Spent(ctx context.Context) bool {
	select {
	case <-c.known:
		return c.spent
	case <-ctx.Done():
		return false
	}
}

// Unit is how many units of messages the client has sent, each of which ends with a message that
// the server replies to at once: Query, FunctionCall, Sync. It may be called from anywhere.
func (m *Message) Unit() uint64 { return m.units.Load() }

// EndUnit is called with each message that ends a unit.
func (m *Message) EndUnit() { m.units.Add(1) }

// Cancel cancels the message at hand, if it is one of the unit behind so many; nil: it is not, or there is none. It
// may be called from anywhere.
//
// Whoever asks for the unit when the cancel request comes, and then whether others are before it at
// the server, does not cancel what was sent later.
func (m *Message) Cancel(unit uint64) *Cancellation {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.atHand || m.Unit() != unit {
		return nil
	}
	if m.canceled == nil {
		m.canceled = &Cancellation{known: make(chan struct{})}
		if m.cancel != nil {
			m.cancel(ErrCanceled)
		}
		if m.asleep {
			m.end(ErrCanceled)
		}
	}
	return m.canceled
}

// Spend reports whether the client has cancelled the message at hand, which must fail then.
func (m *Message) Spend() (canceled bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.canceled != nil {
		m.canceled.spent = true
	}
	return m.canceled != nil
}
