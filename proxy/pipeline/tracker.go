package pipeline

import (
	"errors"
	"fmt"

	"mbusproxy/proxy/wire"
)

// tracker follows the server's replies through the queue of what it owes. It belongs to the
// direction server -> client alone.
//
// Nearly always the replies can be read in one way only. The exception is a COPY FROM STDIN that
// fails while Syncs are under way: the server ignores those it reads while it copies and answers
// the others, and where it stood is not visible from outside. Then there are several readings;
// each reply strikes out those it contradicts, and a session is out of step when none is left.
type tracker struct {
	queue ring
	// main is the likeliest reading, more are the others; usually there are none.
	main reading
	more []reading
	// Txn is the transaction status of the last ReadyForQuery: 'I', 'T' or 'E'.
	Txn   byte
	names names
	// signals is the last plan executed in this transaction that wants to be told of its end.
	signals Plan
}

// reading is one way to read what the server has said so far.
type reading struct {
	// at is the index in the queue of the message being answered.
	at int
	// then is where to go on after a Query whose COPY FROM STDIN has read messages queued behind
	// it; 0: with the next.
	then int
	// skipping is entered by an ErrorResponse in extended protocol and left by the ReadyForQuery
	// of the next Sync: the server ignores all messages in between, those sent later as well.
	skipping bool
	// copyIn is entered by CopyInResponse and left by CommandComplete or ErrorResponse: the
	// message at is a COPY FROM STDIN.
	copyIn bool
	// done counts the statements of a Query that have completed.
	done int
}

// maxReadings bounds tracker.more.
const maxReadings = 64

// Expect queues what the server will owe for the messages of f's last feed, which are about to be written.
func (f *serverFlow) Expect(from *ClientFlow) { f.queueUp(from.news) }

// queueUp queues what the server will owe for messages about to be written.
func (t *tracker) queueUp(news []owed) {
	for i := range news {
		o := &news[i]
		if t.skips() && o.kind != owedSync || t.copies() && o.kind == owedSync && t.queue.n >= maxOwed {
			o.undo()
			continue
		}
		t.queue.push(*o)
	}
	t.skipsOn()
}

// skips reports that the server ignores, for certain, what it is sent up to the next Sync.
func (t *tracker) skips() bool {
	return t.main.skipping && len(t.more) == 0 && t.main.at >= t.queue.n
}

// copies reports that the server takes the data of a COPY FROM STDIN, for certain, and the end of it has not
// been sent. It ignores Syncs then, and a client may send any number of them. Those beyond maxOwed are not
// noted: should the COPY fail before the server has read them, the session is out of step.
func (t *tracker) copies() bool { return t.main.copyIn && len(t.more) == 0 && t.queue.copies == 0 }

// Backlog is where the server stands, as far as the client may have to wait for it.
func (t *tracker) Backlog() Backlog {
	if t.copies() { // nothing comes before the client has gone on
		return Backlog{}
	}
	return Backlog{Outstanding: t.queue.n, size: t.queue.size, Ends: t.queue.ends, skips: t.skips()}
}

// desynced is the error of a reply that cannot answer what is owed.
type desynced struct {
	typ  byte
	head replyKind
}

func (d *desynced) Error() string {
	return fmt.Sprintf("server sent %q while owing a reply to %s", d.typ, d.head)
}

// IsOutOfStep reports whether an error of a feed means that the proxy has lost track of the session, or that a peer does not speak the
// protocol, rather than that a connection has ended.
func IsOutOfStep(err error) bool {
	return errors.As(err, new(*desynced)) || errors.Is(err, wire.ErrFraming) || errors.Is(err, errUnclear)
}

// head returns the entry at which the main reading stands, or nil.
func (t *tracker) head() *owed {
	if t.main.skipping || t.main.at >= t.queue.n {
		return nil
	}
	return t.queue.at(t.main.at)
}

// upcoming returns the message that a report coming now belongs to, or nil.
func (t *tracker) upcoming() *owed {
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

// takesRows reports that DataRow and CopyData change nothing and are for the client.
func (t *tracker) takesRows() bool {
	if len(t.more) > 0 {
		return false
	}
	h := t.head()
	return h != nil && (h.kind == owedQuery || h.kind == owedExecute) && !h.hidden
}

// wantsTag reports that the tag of a CommandComplete coming now matters.
func (t *tracker) wantsTag() bool {
	if t.names.inUse() || len(t.more) > 0 {
		return true
	}
	h := t.upcoming()
	return h != nil && h.about != nil && (len(h.about.deeds) > 0 || len(h.about.hide) > 0 || h.about.tag != "")
}

// Idle reports that no reply is owed and no transaction is open.
func (t *tracker) Idle() bool {
	if t.Txn != 'I' {
		return false
	}
	if t.owesNothing(&t.main) {
		return true
	}
	for i := range t.more {
		if t.owesNothing(&t.more[i]) {
			return true
		}
	}
	return false
}

func (t *tracker) owesNothing(r *reading) bool {
	for i := r.at; i < t.queue.n; i++ {
		if t.queue.at(i).kind != copyEnd {
			return false
		}
	}
	return !r.skipping
}

// answer takes note of a reply of type typ, which is none of those that come unasked. detail is
// the tag of a CommandComplete (may be empty when no name is in use) or the status of a
// ReadyForQuery. hide tells that the client is not to see it.
func (t *tracker) answer(typ byte, detail string) (hide bool, err error) {
	others := t.more
	t.more = nil
	h, hide, ok := t.step(&t.main, typ)
	for _, r := range others {
		rh, rhide, possible := t.step(&r, typ)
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
		d := &desynced{typ: typ}
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
		for t.main.at < t.queue.n && t.queue.at(t.main.at).kind != owedSync {
			t.main.at++
		}
	}
	t.trim()
	return hide, nil
}

// addReading adds r unless there is one like it.
func (t *tracker) addReading(r reading) {
	if r == t.main || len(t.more) >= maxReadings {
		return
	}
	for i := range t.more {
		if t.more[i] == r {
			return
		}
	}
	t.more = append(t.more, r)
}

// step moves r by one reply and returns the message answered, which is nil for an ErrorResponse
// that answers none. hide tells that the client is not to see the reply; ok is false when it is
// impossible in this reading.
func (t *tracker) step(r *reading, typ byte) (h *owed, hide, ok bool) {
	if typ == wire.MsgErrorResponse && r.skipping {
		return nil, false, true // FATAL, it ends the session
	}
	for ; ; r.at++ {
		if r.at >= t.queue.n {
			return nil, false, typ == wire.MsgErrorResponse // a FATAL one comes at any time
		}
		h = t.queue.at(r.at)
		if h.kind == copyEnd || r.skipping && h.kind != owedSync {
			continue
		}
		if !h.kind.accepts(typ) {
			return nil, false, false
		}
		break
	}
	hide = h.hides(typ, r.done)
	switch typ {
	case wire.MsgErrorResponse:
		t.fail(r, h.kind)
	case wire.MsgReadyForQuery:
		*r = reading{at: max(r.at+1, r.then)}
	case wire.MsgCommandComplete:
		t.complete(r, h.kind)
	case wire.MsgCopyInResponse:
		r.copyIn = true
	case wire.MsgParseComplete, wire.MsgBindComplete, wire.MsgCloseComplete:
		r.at++
	case wire.MsgRowDescription, wire.MsgNoData:
		if h.kind == owedDescribe {
			r.at++
		}
	case wire.MsgEmptyQueryResponse, wire.MsgPortalSuspended:
		if h.kind == owedExecute {
			r.at++
		}
	}
	return h, hide, true
}

// complete is the step of a CommandComplete.
func (t *tracker) complete(r *reading, kind replyKind) {
	next := r.at + 1
	if r.copyIn {
		// The server has read the CopyDone, and before it what was queued behind the statement.
		r.copyIn = false
		for i := max(next, r.then); i < t.queue.n; i++ {
			if t.queue.at(i).kind == copyEnd {
				next = i + 1
				break
			}
		}
	}
	if kind == owedExecute {
		r.at = next
	} else { // of a Query more statements may follow, ReadyForQuery must
		r.then = max(r.then, next)
		r.done++
	}
}

// fail is the step of an ErrorResponse. One that ends a COPY FROM STDIN adds the readings in which
// the server has not yet read all the Syncs sent before the end of the data.
func (t *tracker) fail(r *reading, kind replyKind) {
	next := max(r.at+1, r.then)
	query := r.at
	resume := func(at int) reading {
		if kind.extended() {
			return reading{at: at, skipping: true}
		}
		return reading{at: query, then: at}
	}
	if !r.copyIn {
		if kind.extended() {
			*r = resume(next)
		}
		return
	}
	*r = resume(next)
	for i := next; i < t.queue.n; i++ {
		switch t.queue.at(i).kind {
		case copyEnd:
			return
		case owedSync:
			answered := *r
			*r = resume(i + 1)
			t.addReading(answered)
		}
	}
}

// note applies what the reply to h means for the session's names.
func (t *tracker) note(h *owed, typ byte, detail string) {
	if typ == wire.MsgReadyForQuery {
		t.Txn = detail[0]
		t.names.ready(h.kind, t.Txn)
		if t.signals != nil && t.Txn == 'I' {
			t.signals.AfterTransaction()
			t.signals = nil
		}
		return
	}
	if h == nil {
		return
	}
	t.fulfil(h, typ, detail)
	if h.hidden {
		return
	}
	if typ == wire.MsgCommandComplete {
		if plan, _ := t.names.planOf(h); plan != nil && plan.Signals() {
			t.signals = plan
		}
	}
	switch typ {
	case wire.MsgParseComplete:
		t.names.parsed(h.about)
	case wire.MsgBindComplete:
		t.names.bound(h.about)
	case wire.MsgCloseComplete:
		t.names.closed(h.about)
	case wire.MsgCommandComplete:
		t.names.completed(h, detail)
	case wire.MsgErrorResponse:
		t.names.failed(h)
	}
}

// trim drops what all readings have behind them.
func (t *tracker) trim() {
	n := t.main.at
	for i := range t.more {
		n = min(n, t.more[i].at)
	}
	if n == 0 {
		return
	}
	for range n {
		t.queue.pop()
	}
	t.main.moved(n)
	for i := range t.more {
		t.more[i].moved(n)
	}
}

func (r *reading) moved(n int) {
	r.at -= n
	r.then = max(0, r.then-n)
}
