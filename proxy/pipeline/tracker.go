package pipeline

import (
	"errors"
	"fmt"
	"sync/atomic"

	"mbusproxy/proxy/wire"
)

// tracker follows the server's replies through the queue of outstanding requests. It belongs to the
// direction server to client alone, but for names.
//
// Nearly always the replies can be read in one way only. The exception is a COPY FROM STDIN that
// fails while Syncs are under way: the server ignores those it reads while it copies and replies to
// the others, and where it stood is not visible from outside. Then there are several readings;
// each reply strikes out those it contradicts, and the session has lost synchronization when none is left.
type tracker struct {
	queue requestQueue
	// main is the likeliest reading, more are the others; usually there are none.
	main reading
	more []reading
	// Txn is the transaction status of the last ReadyForQuery: 'I', 'T' or 'E'.
	Txn   byte
	names names
	// began says that a command that ran since the last ReadyForQuery has begun a transaction block, and none has ended it.
	began bool
	// owes says that a reply which the client waits for will come to what is to be sent again, and has not been.
	owes bool
	// signals is what the plans executed in this transaction want said at its end, signaler is the last of them.
	signals  Signals
	signaler Plan
	// planned is set by the first request with details: before that there is nothing that Flows.Look could tell.
	planned bool
	// current is the request that Flows.Look tells of; nil for none.
	current atomic.Pointer[details]
	held    heldMessages
}

// Expect queues the requests of from's last feed, which are about to be written.
func (f *serverFlow) Expect(from *ClientFlow) { f.queueUp(from.requests) }

// Rest is called where nothing is going to be sent for long: very many sessions may be like that.
func (f *serverFlow) Rest() { f.queue.rest() }

// queueUp queues requests, but for those that the server will not reply to.
func (t *tracker) queueUp(requests []request) {
	t.owes = t.owes && len(requests) == 0
	for i := range requests {
		o := &requests[i]
		if t.skips() && o.kind != kindSync || t.copies() && o.kind == kindSync && t.queue.n >= maxOutstanding {
			o.undo(&t.names)
			continue
		}
		t.planned = t.planned || o.details != nil
		t.queue.push(*o)
	}
	if t.skipsOn(); t.planned {
		t.publish()
	}
}

// skips reports whether it is certain that the server ignores what it is sent up to the next Sync.
func (t *tracker) skips() bool {
	return t.main.skipping && len(t.more) == 0 && t.main.at >= t.queue.n
}

// copies reports whether it is certain that the server takes the data of a COPY FROM STDIN, the end of which has not
// been sent. It ignores Syncs then, and a client may send any number of them. Those beyond maxOutstanding are not
// queued: should the COPY fail before the server has read them, the session loses synchronization.
func (t *tracker) copies() bool { return t.main.copyIn && len(t.more) == 0 && t.queue.copies == 0 }

// Backlog is what the server is known to be doing, as far as the client may have to wait for it.
func (t *tracker) Backlog() Backlog {
	if t.copies() { // the server sends nothing before the client has gone on
		return Backlog{copies: true}
	}
	return Backlog{Outstanding: t.queue.n, size: t.queue.size, Flushing: t.queue.flushing, skips: t.skips(), block: t.Txn == 'T', failed: t.Txn == 'E'}
}

// lostSync is the error of a reply that cannot answer the oldest outstanding request.
type lostSync struct {
	typ  byte
	head requestKind
}

func (d *lostSync) Error() string {
	return fmt.Sprintf("server sent %q while the oldest outstanding request is: %s", d.typ, d.head)
}

// IsLostSync reports whether an error of a feed means that the proxy has lost synchronization, or that a peer does not speak the
// protocol, rather than that a connection has ended.
func IsLostSync(err error) bool {
	return errors.As(err, new(*lostSync)) || errors.Is(err, wire.ErrFraming) || errors.Is(err, errUnclear)
}

// head returns the request at which the main reading stands, or nil.
func (t *tracker) head() *request {
	if t.main.skipping || t.main.at >= t.queue.n {
		return nil
	}
	return t.queue.at(t.main.at)
}

// upcoming returns the request that a report coming now belongs to, or nil.
func (t *tracker) upcoming() *request {
	if t.main.skipping {
		return nil
	}
	for i := t.main.at; i < t.queue.n; i++ {
		if o := t.queue.at(i); o.kind != copyEnd {
			return o
		}
	}
	return nil
}

// takesRows reports whether DataRow and CopyData change nothing and are for the client.
func (t *tracker) takesRows() bool {
	if len(t.more) > 0 {
		return false
	}
	h := t.head()
	return h != nil && (h.kind == kindQuery || h.kind == kindExecute) && !h.hidden
}

// wantsTag reports whether the tag of a CommandComplete coming now matters.
func (t *tracker) wantsTag() bool {
	if t.names.inUse() || t.names.prepared.some.Load() || len(t.more) > 0 || t.held.any() {
		return true
	}
	h := t.upcoming()
	if h != nil && h.kind == kindExecute && t.Txn == 'I' && !t.syncFollows() {
		return true // it may begin a block
	}
	return h != nil && h.details != nil && (h.details.plan != nil || h.details.trace != nil || h.details.outcomes() || len(h.details.hiddenTags) > 0 || h.details.tag != "")
}

// Idle reports whether no request is outstanding and no transaction is open.
func (t *tracker) Idle() bool {
	if t.Txn != 'I' || t.owes {
		return false
	}
	if t.allAnswered(&t.main) {
		return true
	}
	for i := range t.more {
		if t.allAnswered(&t.more[i]) {
			return true
		}
	}
	return false
}

func (t *tracker) allAnswered(r *reading) bool {
	for i := r.at; i < t.queue.n; i++ {
		if t.queue.at(i).kind != copyEnd {
			return false
		}
	}
	return !r.skipping
}

// answer takes note of a message of type typ, which is a reply to a request. detail is
// the tag of a CommandComplete (may be empty when no name is in use) or the status of a
// ReadyForQuery. hide says that the client is not to see it.
func (t *tracker) answer(typ byte, detail string) (hide bool, err error) {
	others := t.more
	t.more = nil
	h, hide, ok := t.advance(&t.main, typ)
	for _, r := range others {
		rh, rhide, possible := t.advance(&r, typ)
		switch {
		case !possible:
		case !ok:
			t.main, h, hide, ok = r, rh, rhide, true
		case hide != rhide:
			return false, errUnclear
		default:
			t.addReading(r)
		}
	}
	if !ok {
		d := &lostSync{typ: typ}
		if t.main.at < t.queue.n {
			d.head = t.queue.at(t.main.at).kind
		}
		return false, d
	}
	t.note(h, typ, detail)
	if len(t.more) > 0 {
		t.blur()
	}
	if typ == wire.MsgErrorResponse {
		t.skipsOn()
	}
	if t.main.skipping && len(t.more) == 0 {
		for t.main.at < t.queue.n && t.queue.at(t.main.at).kind != kindSync {
			t.main.at++
		}
	}
	t.trim()
	if t.planned && (typ == wire.MsgReadyForQuery || typ == wire.MsgErrorResponse || completes(typ)) {
		t.publish()
	}
	return hide, nil
}

// note applies what the reply to h means for the session's transaction and names.
func (t *tracker) note(h *request, typ byte, detail string) {
	if typ == wire.MsgReadyForQuery {
		t.Txn, t.began = detail[0], false
		if h.kind == kindQuery && h.details != nil && h.details.trace != nil {
			h.details.trace.Ended()
		}
		if t.held.any() {
			t.held.ready(t.Txn)
		}
		t.names.ready(h.kind == kindQuery || h.details != nil && h.details.prepared, t.Txn)
		if t.Txn == 'I' {
			t.signal()
		}
		return
	}
	if h == nil {
		return
	}
	certain := len(t.more) == 0
	h.answered(typ, certain)
	if typ == wire.MsgCommandComplete {
		t.names.prepared.completed(detail)
		if t.held.any() {
			t.held.completed(detail)
		}
		t.began = certain && blockAfter(detail, t.began)
		if !h.hidden && h.details != nil && h.details.trace != nil {
			h.details.trace.Completed(detail)
			if h.kind == kindExecute {
				h.details.trace.Ended()
			}
		}
	}
	if h.hidden {
		return
	}
	if typ == wire.MsgCommandComplete || typ == wire.MsgErrorResponse {
		if plan, _ := t.names.planOf(h); plan != nil {
			t.ran(h, plan, typ == wire.MsgCommandComplete)
			if typ == wire.MsgCommandComplete {
				t.held.took(plan, detail)
			}
		}
	}
	if typ == wire.MsgPortalSuspended && t.planned {
		plan, _ := t.names.planOf(h)
		t.held.suspended(plan)
		t.noteSignals(plan, true) // perhaps nobody reads on
	}
	t.names.replied(h, typ, detail, certain)
}

// noteSignals notes for whom AfterTransaction is to be called. plan may be nil.
func (t *tracker) noteSignals(plan Plan, ok bool) {
	if plan == nil {
		return
	}
	if s := plan.Signals(ok); s != 0 {
		t.signals |= s
		t.signaler = plan
	}
}

// signal tells those for whom AfterTransaction is to be called that the transaction has ended.
func (t *tracker) signal() {
	if t.signals != 0 {
		t.signaler.AfterTransaction(t.signals)
		t.signals, t.signaler = 0, nil
	}
}

// ran notes that the server has run a statement of plan for h, or has failed to.
func (t *tracker) ran(h *request, plan Plan, ok bool) {
	if !h.ran {
		h.ran = true
		plan.Ran(ok)
	}
	t.noteSignals(plan, ok)
}

// syncFollows reports whether a Sync has been sent right behind the request that the server replies to.
func (t *tracker) syncFollows() bool {
	return t.main.at+1 < t.queue.n && t.queue.at(t.main.at+1).kind == kindSync
}

// blockAfter reports whether a transaction block is open that a command has begun, after one with that tag; before is what it was before.
// A ROLLBACK may have ended it or not.
func blockAfter(tag string, before bool) bool {
	switch tag {
	case "BEGIN", "START TRANSACTION":
		return true
	case "COMMIT", "ROLLBACK", "PREPARE TRANSACTION":
		return false
	}
	return before
}
