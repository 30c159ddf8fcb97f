package pipeline

import (
	"errors"
	"sync/atomic"

	"mbusproxy/proxy/wire"
)

// deed is something a message of the client may bring about: a name gets a meaning or loses it, or
// a step runs. Whether it came about only the server's reply tells. The direction client -> server
// makes deeds, hands them over with the queue and reads their outcome, which the other direction
// sets. There are none in a session that never had a late plan (lateflow.go).
type deed struct {
	// tag is that of the CommandComplete which says that it is done; empty when the completion
	// of the message itself does.
	tag string
	// segment counts the Syncs sent before the message; see history.look.
	segment uint64
	// simple: a Query brings it about; doubtful: behind messages that may have failed, so the
	// server may skip the Query and never reply to it.
	simple, doubtful bool
	// means is what the name stands for from then on.
	means meaning

	outcome atomic.Uint32
	known   chan struct{} // closed when outcome is set
	// gone is set once the name has ended although nothing took it away by name.
	gone atomic.Bool
	// run is the last try to run means.step; nil before the first. It belongs to the direction
	// client -> server.
	run *deed
	// acts: executing it may give names another meaning, and which ones is not known. It belongs to the
	// direction client -> server.
	acts bool
	// Of a question (ask.go), set before outcome is: what the session said, that its failure was kept from the
	// client, and the ErrorResponse of one that had a Sync of its own.
	answer  string
	hushed  bool
	failure []byte
}

// meaning is what a name of a statement or portal stands for, as far as that matters to steps. The
// zero value stands for all that does not matter.
type meaning struct {
	late  Plan   // of a statement: to be asked at each Bind
	voids []int  // with late: StatementContext.VoidParams
	act   *act   // what executing it does to a name
	step  Plan   // of a portal: to be run before it is
	again []byte // with step: the Bind to send again after it, because it may end the transaction
	// unread: the text was too long to be looked at; clouded: what the name stands for is not known.
	unread, clouded bool
}

func (m *meaning) matters() bool {
	return m.late != nil || m.act != nil || m.step != nil || m.unread || m.clouded
}

// size is how many bytes of texts and messages m keeps.
func (m *meaning) size() int {
	n := len(m.again)
	if m.late != nil {
		n += len(m.late.SQL())
	}
	if m.step != nil {
		n += len(m.step.SQL())
	}
	return n
}

// Outcomes of a deed.
const (
	deedPending = iota // no reply yet
	deedDone           // it came about
	deedUndone         // it failed, or the server skipped the message
	deedUnclear        // the replies can be read either way, see tracker
)

// errUnclear ends a session of which cannot be told what a name stands for: to run a step for the
// wrong portal, or none for the right one, is out of the question.
var errUnclear = errors.New("cannot tell what a name stands for")

func newDeed(segment uint64, tag string, means meaning) *deed {
	return &deed{segment: segment, tag: tag, means: means, known: make(chan struct{})}
}

func (d *deed) pending() bool { return d.outcome.Load() == deedPending }

// settle sets the outcome unless it is known.
func (d *deed) settle(outcome uint32) {
	if d.pending() {
		d.outcome.Store(outcome)
		close(d.known)
	}
}

// doneBy reports whether a reply of type typ says that the deed, which belongs to the message it
// answers, is done.
func (d *deed) doneBy(typ byte, tag string) bool {
	if d.tag != "" {
		return typ == wire.MsgCommandComplete && tag == d.tag
	}
	switch typ {
	case wire.MsgParseComplete, wire.MsgBindComplete, wire.MsgCloseComplete, wire.MsgCommandComplete, wire.MsgEmptyQueryResponse:
		return true
	}
	return false
}

// living are the deeds that have given names a meaning they still have, as far as that matters. It
// belongs to the direction server -> client and tells the other of names that end unnamed.
type living struct {
	statements, portals map[string]*deed
}

// done is called when d, a deed of the message h, is done.
func (l *living) done(h *owed, d *deed) {
	switch {
	case h.hidden || d.tag != "":
	case h.kind == owedParse:
		l.statements = lives(l.statements, h.about.statement, d)
	case h.kind == owedBind:
		l.portals = lives(l.portals, h.about.portal, d)
	case h.about.ofPortal:
		delete(l.portals, h.about.portal)
	default:
		delete(l.statements, h.about.statement)
	}
}

func lives(m map[string]*deed, name string, d *deed) map[string]*deed {
	if !d.means.matters() {
		delete(m, name)
		return m
	}
	if m == nil {
		m = make(map[string]*deed)
	}
	m[name] = d
	return m
}

// end is called when all portals have ended, or all statements that have a name.
func (l *living) end(portals bool) {
	names := l.statements
	if portals {
		names = l.portals
	}
	for name, d := range names {
		if portals || name != "" {
			d.gone.Store(true)
			delete(names, name)
		}
	}
}

// fulfil settles the deed of h that a reply says is done.
func (t *tracker) fulfil(h *owed, typ byte, detail string) {
	if h.about == nil {
		return
	}
	for _, d := range h.about.deeds {
		if !d.pending() || !d.doneBy(typ, detail) {
			continue
		}
		if len(t.more) > 0 {
			d.settle(deedUnclear)
			return
		}
		t.names.living.done(h, d)
		d.settle(deedDone)
		return
	}
}

// undo settles what is left of the deeds of an entry that all readings have behind them.
func (o *owed) undo() {
	if o.about == nil {
		return
	}
	for _, d := range o.about.deeds {
		d.settle(deedUndone)
	}
}

// blur settles, while there are several readings, the deeds that one of them has behind it: what
// it says of them may not be so, and in that reading no reply may be to come.
func (t *tracker) blur() {
	stop := t.reached(&t.main)
	for i := range t.more {
		stop = max(stop, t.reached(&t.more[i]))
	}
	for i := range min(stop, t.queue.n) {
		if a := t.queue.at(i).about; a != nil {
			for _, d := range a.deeds {
				d.settle(deedUnclear)
			}
		}
	}
}

// reached is the index of the first message that r does not have behind it.
func (t *tracker) reached(r *reading) int {
	at := r.at
	for r.skipping && at < t.queue.n && t.queue.at(at).kind != owedSync {
		at++
	}
	return at
}
