package pipeline

import "sync/atomic"

// outcome is what becomes of a request, or of one of the statements in its text. The direction server to client
// settles it, once; the direction client to server reads it and may wait for it.
type outcome struct {
	state atomic.Uint32 // an outcomeState
	known chan struct{} // closed when it is settled
}

type outcomeState uint32

const (
	pending outcomeState = iota // no reply yet
	done                        // the server has run it
	undone                      // it failed, or the server skipped it
	unclear                     // the replies can be read either way, see tracker
)

func (s outcomeState) String() string {
	return [...]string{"pending", "done", "undone", "unclear"}[s]
}

func newOutcome() *outcome { return &outcome{known: make(chan struct{})} }

func (o *outcome) is() outcomeState { return outcomeState(o.state.Load()) }

// settle sets the outcome unless it is known.
func (o *outcome) settle(as outcomeState) {
	if o.is() == pending {
		o.state.Store(uint32(as))
		close(o.known)
	}
}
