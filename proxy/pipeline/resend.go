package pipeline

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// A statement of ours may be gone although nothing has shown it: a function of the client's has
// deallocated it, or its columns have changed. The server says so at the first message that uses
// the statement, before anything has run. Outside of a transaction block nothing is lost then, and
// the proxy sends what the client sent once more, without the statement. The client sees neither
// the error nor the ReadyForQuery behind it.
//
// Up to the ReadyForQuery what the client sends behind a Query is held back, for it has to come
// behind what is sent again. Behind messages of the extended protocol, which clients send without
// waiting, it is not held: then the error is the client's.

// resend is what both directions know of messages that can be sent again. At a time there are those
// of one Query, or of one Sync. They are sent where nothing else is outstanding, so the next
// ReadyForQuery is theirs.
type resend struct {
	state atomic.Uint32 // a resendState
	// plan is the Plan of a Query, which is sent again by its SQL; nil for messages of the extended
	// protocol. The direction server to client writes it before resendOwed, and the other reads it
	// after that.
	plan  statements.Plan
	trace statements.Trace // of that Query
	// changed has room for one: the direction server to client tells that it has left resendArmed
	// or resendFailed. It is made before the first resendArmed.
	changed chan struct{}
}

type resendState uint32

const (
	resendNothing resendState = iota
	// resendArmed is entered by the direction client to server before the messages are sent.
	resendArmed
	// resendFailed is entered from resendArmed by the other direction with an error that the client does not see.
	resendFailed
	// resendOwed is entered from resendFailed with the ReadyForQuery: the messages are to be sent again.
	resendOwed
)

func (s resendState) String() string {
	return [...]string{"nothing", "armed", "failed", "owed"}[s]
}

func (r *resend) is() resendState { return resendState(r.state.Load()) }

// move makes the transition unless the other direction has been faster.
func (r *resend) move(from, to resendState) bool {
	return r.state.CompareAndSwap(uint32(from), uint32(to))
}

// unsent is what a ClientFlow keeps of messages that can be sent again.
type unsent struct {
	// undecided says that there are such messages, as far as is known here.
	undecided bool
	// holds says that they are those of a Query, behind which all is held back.
	holds bool
	// clean says that nothing is outstanding but a Parse that has made the stand-in.
	clean bool
	// keeping says that messages are being added to kept: the client's own from the first that uses
	// a stand-in, up to the Sync.
	keeping bool
	kept    []byte
	standIn *standIn // which they use
}

// maxKept bounds unsent.kept, in bytes.
const maxKept = 4 << 10

// arm is called before messages are sent that can be sent again; holds is unsent.holds.
func (f *ClientFlow) arm(holds bool) {
	r := &f.ours.resend
	if r.changed == nil {
		r.changed = make(chan struct{}, 1)
	}
	f.unsent.undecided, f.unsent.holds = true, holds
	r.move(resendNothing, resendArmed)
}

// keepFrom is called with the details of the first message that uses the stand-in for the unnamed statement.
func (f *ClientFlow) keepFrom(a *details) {
	a.again = true
	f.unsent.keeping, f.unsent.kept, f.unsent.standIn = true, f.unsent.kept[:0], f.prepared.standIn
}

// keep is called with each message that lies in one piece, or with the head of one, once it has been dealt with.
func (f *ClientFlow) keep(frame []byte) {
	if !f.unsent.keeping {
		return
	}
	if !isWhole(frame) || len(f.unsent.kept)+len(frame) > maxKept {
		f.unsent.keeping = false
		return
	}
	f.unsent.kept = append(f.unsent.kept, frame...)
}

// keepSync is called with the Sync at the end.
func (f *ClientFlow) keepSync() {
	f.unsent.keeping = false
	f.unsent.kept = wire.AppendFrame(f.unsent.kept, wire.MsgSync)
	f.arm(false)
}

// keeps reports whether messages of type typ can be kept.
func keeps(typ byte) bool {
	switch requests.KindOf(typ) {
	case requests.Parse, requests.Bind, requests.Describe, requests.Execute, requests.Close, requests.Sync:
		return true
	}
	return false
}

// Awaits reports whether it has to be seen first whether something is to be sent again, before anything else is sent.
func (f *ClientFlow) Awaits() bool {
	if !f.unsent.undecided {
		return false
	}
	r := &f.ours.resend
	if !f.unsent.holds {
		r.move(resendArmed, resendNothing)
	}
	f.unsent.undecided = r.is() != resendNothing
	return f.unsent.undecided
}

// awaitResend waits until it is known whether something is to be sent again; false means that the session has ended.
func (f *ClientFlow) awaitResend(ctx context.Context) bool {
	if !f.unsent.undecided || f.Nonblocking {
		return true
	}
	for r := &f.ours.resend; f.Awaits() && r.is() != resendOwed; {
		select {
		case <-r.changed:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// sendAgain returns what is to be sent before all else, and the client's messages that are to be
// looked at before the batch. Of what it returns the requests are noted.
func (f *ClientFlow) sendAgain() (first, kept []byte) {
	r := &f.ours.resend
	if !f.unsent.undecided || r.is() != resendOwed {
		return nil, nil
	}
	r.state.Store(uint32(resendNothing))
	f.unsent.undecided = false
	if plan := r.plan; plan != nil {
		f.push(requests.Query, &details{plan: plan, hiddenTags: plan.HiddenTags(), tag: plan.Tag(), trace: r.trace})
		r.plan, r.trace = nil, nil
		return wire.AppendFrame(nil, wire.MsgQuery, []byte(plan.SQL()), []byte{0}), nil
	}
	s := f.unsent.standIn
	f.prepared.standIn, f.prepared.near = nil, nil
	f.pushHidden(requests.Parse, &details{plan: s.plan})
	return wire.AppendFrame(nil, wire.MsgParse, []byte{0}, []byte(s.plan.SQL()), []byte{0}, s.types), f.unsent.kept
}

// failsUnseen reports whether an ErrorResponse, which says to h that a statement of ours cannot be
// used, is not for the client, because what the client sent is sent again.
func (f *serverFlow) failsUnseen(rep *pgproto3.ErrorResponse, h *request) bool {
	if !h.details.again || len(f.more) > 0 || rep.SeverityUnlocalized != "ERROR" || !f.ours.resend.move(resendArmed, resendFailed) {
		return false
	}
	f.ours.resend.plan, f.ours.resend.trace = h.details.plain, h.details.trace
	f.latest = 0 // as if it had not come
	return true
}

// readyToResend is called at a ReadyForQuery. hide says that the client is not to see it.
func (f *serverFlow) readyToResend() (hide bool) {
	r := &f.ours.resend
	switch r.is() {
	case resendArmed:
		r.move(resendArmed, resendNothing)
	case resendFailed:
		r.move(resendFailed, resendOwed)
		f.owes, hide = true, true
	default:
		return false
	}
	select {
	case r.changed <- struct{}{}:
	default:
	}
	return hide
}

// Owes reports whether the other direction is to send something again, and has not done so.
func (t *tracker) Owes() bool { return t.owes }
