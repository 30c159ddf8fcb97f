package pipeline

import (
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/wire"
)

// reading is one way to read what the server has said so far.
type reading struct {
	// at is the index in the queue of the request that is being replied to.
	at int
	// then is the index at which to go on after a Query whose COPY FROM STDIN has read messages that are queued behind
	// it; 0 for the next.
	then int
	// skipping is entered by an ErrorResponse of the extended protocol and left by the ReadyForQuery
	// of the next Sync: the server ignores all messages in between, those sent later as well.
	skipping bool
	// copyIn is entered by CopyInResponse and left by CommandComplete or ErrorResponse: the
	// request is a COPY FROM STDIN.
	copyIn bool
	// done counts the statements of the Query that have completed.
	done int
}

// maxReadings bounds tracker.more.
const maxReadings = 64

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

// advance moves r by one reply and returns the request that it is a reply to, which is nil for an ErrorResponse
// to none. hide says that the client is not to see the reply; ok is false when it is impossible in this reading.
func (t *tracker) advance(r *reading, typ byte) (h *request, hide, ok bool) {
	if typ == wire.MsgErrorResponse && r.skipping {
		return nil, false, true // FATAL, it ends the session
	}
	for ; ; r.at++ {
		if r.at >= t.queue.n {
			return nil, false, typ == wire.MsgErrorResponse // a FATAL one comes at any time
		}
		h = t.queue.at(r.at)
		if h.kind == requests.CopyEnd || r.skipping && h.kind != requests.Sync {
			continue
		}
		if !h.kind.Accepts(typ) {
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
		if h.kind == requests.Describe {
			r.at++
		}
	case wire.MsgEmptyQueryResponse, wire.MsgPortalSuspended:
		if h.kind == requests.Execute {
			r.at++
		}
	}
	return h, hide, true
}

// complete moves r by a CommandComplete.
func (t *tracker) complete(r *reading, kind requests.Kind) {
	next := r.at + 1
	if r.copyIn {
		// The server has read the CopyDone, and before it what was queued behind the statement.
		r.copyIn = false
		for i := max(next, r.then); i < t.queue.n; i++ {
			if t.queue.at(i).kind == requests.CopyEnd {
				next = i + 1
				break
			}
		}
	}
	if kind == requests.Execute {
		r.at = next
	} else { // further statements of a Query may follow, ReadyForQuery must
		r.then = max(r.then, next)
		r.done++
	}
}

// fail moves r by an ErrorResponse. One that ends a COPY FROM STDIN adds the readings in which
// the server has not yet read all the Syncs sent before the end of the data.
func (t *tracker) fail(r *reading, kind requests.Kind) {
	next := max(r.at+1, r.then)
	query := r.at
	resume := func(at int) reading {
		if kind.Extended() {
			return reading{at: at, skipping: true}
		}
		return reading{at: query, then: at}
	}
	if !r.copyIn {
		if kind.Extended() {
			*r = resume(next)
		}
		return
	}
	*r = resume(next)
	for i := next; i < t.queue.n; i++ {
		switch t.queue.at(i).kind {
		case requests.CopyEnd:
			return
		case requests.Sync:
			answered := *r
			*r = resume(i + 1)
			t.addReading(answered)
		}
	}
}

// blur settles as unclear, while there are several readings, what hangs on the requests that one of them has behind it.
// That reading may be wrong about them; and if it is right, no reply to them is to come.
func (t *tracker) blur() {
	stop := t.reached(&t.main)
	for i := range t.more {
		stop = max(stop, t.reached(&t.more[i]))
	}
	for i := range min(stop, t.queue.n) {
		t.queue.at(i).settle(&t.names, requests.Unclear)
	}
}

// reached is the index of the first request that r does not have behind it.
func (t *tracker) reached(r *reading) int {
	at := r.at
	for r.skipping && at < t.queue.n && t.queue.at(at).kind != requests.Sync {
		at++
	}
	return at
}

// trim drops the requests that all readings have behind them.
func (t *tracker) trim() {
	n := t.main.at
	for i := range t.more {
		n = min(n, t.more[i].at)
	}
	if n == 0 {
		return
	}
	for range n {
		t.queue.at(0).undo(&t.names)
		t.queue.pop()
	}
	t.main.moved(n)
	for i := range t.more {
		t.more[i].moved(n)
	}
}

// moved is called when n requests at the head of the queue have been dropped.
func (r *reading) moved(n int) {
	r.at -= n
	r.then = max(0, r.then-n)
}
