package pipeline

import (
	"errors"
	"fmt"
	"sync/atomic"

	"mbusproxy/proxy/pipeline/names"
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/pipeline/taken"
	"mbusproxy/proxy/statements"
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
	names names.Table
	ours  preparedNames
	// began says that a command that ran since the last ReadyForQuery has begun a transaction
	// block, and none has ended it.
	began bool
	// owes says that a reply which the client waits for will come to what is to be sent again, and has not been.
	owes bool
	// signals is what the plans executed in this transaction want said at its end, signaler is the last of them.
	signals  statements.Signals
	signaler statements.Plan
	values   statements.Signals // what the values mean that this transaction has bound
	// planned is set by the first request with details: before that there is nothing that Flows.Look could tell.
	planned bool
	// current is the request that Flows.Look tells of; nil for none.
	current atomic.Pointer[details]
	held    taken.Messages
}

// Expect queues the requests of from's last feed, which are about to be written.
func (f *serverFlow) Expect(from *ClientFlow) { f.queueUp(from.requests) }

// Rest is called where nothing is going to be sent for long: very many sessions may be like that.
func (f *serverFlow) Rest() { f.queue.rest() }

// queueUp queues what was sent, but for those that the server will not reply to.
func (t *tracker) queueUp(sent []request) {
	t.owes = t.owes && len(sent) == 0
	for i := range sent {
		o := &sent[i]
		if t.skips() && o.kind != requests.Sync || t.copies() && o.kind == requests.Sync && t.queue.n >= maxOutstanding {
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
	head requests.Kind
}

func (d *lostSync) Error() string {
	return fmt.Sprintf("server sent %q while the oldest outstanding request is: %s", d.typ, d.head)
}

// IsLostSync reports whether an error of a feed means that the proxy has lost synchronization, or
// that a peer does not speak the protocol, rather than that a connection has ended.
func IsLostSync(err error) bool {
	return errors.As(err, new(*lostSync)) || errors.Is(err, wire.ErrFraming) || errors.Is(err, names.ErrUnclear)
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
		if o := t.queue.at(i); o.kind != requests.CopyEnd {
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
	return h != nil && (h.kind == requests.Query || h.kind == requests.Execute) && !h.hidden
}

// wantsTag reports whether the tag of a CommandComplete coming now matters.
func (t *tracker) wantsTag() bool {
	if t.names.InUse() || t.ours.some.Load() || len(t.more) > 0 || t.held.Any() {
		return true
	}
	h := t.upcoming()
	if h != nil && h.kind == requests.Execute && t.Txn == 'I' && !t.syncFollows() {
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
		if t.queue.at(i).kind != requests.CopyEnd {
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
			return false, names.ErrUnclear
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
		for t.main.at < t.queue.n && t.queue.at(t.main.at).kind != requests.Sync {
			t.main.at++
		}
	}
	t.trim()
	if t.planned && (typ == wire.MsgReadyForQuery || typ == wire.MsgErrorResponse || requests.Completes(typ)) {
		t.publish()
	}
	return hide, nil
}

// note applies what the reply to h means for the session's transaction and names.
func (t *tracker) note(h *request, typ byte, detail string) {
	if typ == wire.MsgReadyForQuery {
		t.Txn, t.began = detail[0], false
		if h.kind == requests.Query && h.details != nil && h.details.trace != nil {
			h.details.trace.Ended()
		}
		if t.held.Any() {
			t.held.Ready(t.Txn)
		}
		t.names.Ready(h.kind == requests.Query || h.details != nil && h.details.prepared, t.Txn)
		if t.Txn == 'I' {
			t.signal()
			t.values = 0
		}
		return
	}
	if h == nil {
		return
	}
	certain := len(t.more) == 0
	h.answered(typ, certain)
	if typ == wire.MsgBindComplete && t.planned {
		t.noteValues(h, certain)
	}
	if typ == wire.MsgCommandComplete {
		t.ours.completed(detail)
		if t.held.Any() {
			t.held.Completed(detail)
		}
		t.began = certain && blockAfter(detail, t.began)
		if !h.hidden && h.details != nil && h.details.trace != nil {
			h.details.trace.Completed(detail)
			if h.kind == requests.Execute {
				h.details.trace.Ended()
			}
		}
	}
	if h.hidden {
		return
	}
	if typ == wire.MsgCommandComplete || typ == wire.MsgErrorResponse {
		if plan, _ := t.planOf(h); plan != nil {
			t.ran(h, plan, typ == wire.MsgCommandComplete)
			if typ == wire.MsgCommandComplete {
				t.held.Took(plan, detail)
			}
		}
	}
	if typ == wire.MsgPortalSuspended && t.planned {
		plan, _ := t.planOf(h)
		t.held.Suspended(plan)
		t.noteSignals(plan, true) // perhaps nobody reads on
	}
	if h.details != nil { // else it was sent before the session's first Plan, and a name it replaces has none; or it is malformed
		t.names.Replied(h.kind, &h.details.Use, typ, detail, certain)
	}
}

// planOf returns the plan by which a report in reply to h is edited, or nil. forgotten says that
// there may have been one.
func (t *tracker) planOf(h *request) (plan statements.Plan, forgotten bool) {
	if h == nil || h.details == nil {
		return nil, false
	}
	if h.details.plan != nil {
		return h.details.plan, false
	}
	return t.names.PlanOf(h.kind, &h.details.Use)
}

// noteValues notes what the values mean that h has bound; certain says that it was h that has.
func (t *tracker) noteValues(h *request, certain bool) {
	switch {
	case !certain:
		t.values = statements.AllSignals
	case h.details != nil:
		t.values |= h.details.values
	}
}

// noteSignals notes for whom AfterTransaction is to be called. plan may be nil.
func (t *tracker) noteSignals(plan statements.Plan, ok bool) {
	if plan == nil {
		return
	}
	if s := plan.Signals(ok, t.values); s != 0 {
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
func (t *tracker) ran(h *request, plan statements.Plan, ok bool) {
	if !h.ran {
		h.ran = true
		plan.Ran(ok)
	}
	t.noteSignals(plan, ok)
}

// syncFollows reports whether a Sync has been sent right behind the request that the server replies to.
func (t *tracker) syncFollows() bool {
	return t.main.at+1 < t.queue.n && t.queue.at(t.main.at+1).kind == requests.Sync
}

// blockAfter reports whether a transaction block is open that a command has begun, after one with
// that tag; before is what it was before. A ROLLBACK may have ended it or not.
func blockAfter(tag string, before bool) bool {
	switch tag {
	case "BEGIN", "START TRANSACTION":
		return true
	case "COMMIT", "ROLLBACK", "PREPARE TRANSACTION":
		return false
	}
	return before
}
