package requests

import "sync/atomic"

// Outcome is what becomes of a request, or of one of the statements in its text. The direction server to client
// settles it, once; the direction client to server reads it and may wait for it.
type Outcome struct {
	state atomic.Uint32 // a State
	known chan struct{} // see Known
}

// State is that of an Outcome. It is entered from Pending, once.
type State uint32

// The states.
const (
	Pending State = iota // no reply yet
	Done                 // the server has run it
	Undone               // it failed, or the server skipped it
	Unclear              // the replies can be read either way
)

func (s State) String() string {
	return [...]string{"pending", "done", "undone", "unclear"}[s]
}

// NewOutcome returns a pending one.
func NewOutcome() *Outcome { return &Outcome{known: make(chan struct{})} }

// Is returns the state.
func (o *Outcome) Is() State { return State(o.state.Load()) }

// Known is closed when the outcome is settled.
func (o *Outcome) Known() <-chan struct{} { return o.known }

// Settle sets the outcome unless it is known.
func (o *Outcome) Settle(as State) {
	if o.Is() == Pending {
		o.state.Store(uint32(as))
		close(o.known)
	}
}
