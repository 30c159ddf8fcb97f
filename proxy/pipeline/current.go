package pipeline

import (
	"strconv"
	"strings"
	"sync/atomic"

	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
)

// What a session does, for people who look at it from outside. The directions note only what costs next to nothing; words are made by who looks.

// Session is what can be told of a session while it runs.
type Session struct {
	// Call is Labeled.Label of the statement that the server runs, or that waits; in a transaction block of the last one that it has run. "" where that calls nothing.
	Call string
	// Held is how many messages the open transaction has taken; less than 0: it is not known.
	Held int64
}

// Look tells of the session. It may be called from anywhere, once the session has begun.
func (f *Flows) Look() Session {
	s := Session{Held: f.Down.held.shown.Load()}
	if w := f.Up.waits.Load(); w != nil {
		s.Call = labelOf(w.wait)
		return s
	}
	d := f.Down.current.Load()
	if d == nil {
		return s
	}
	plan := d.plan
	if plan == nil {
		plan = f.Down.names.Labeled(&d.Use)
	}
	s.Call = labelOf(plan)
	return s
}

func labelOf(of any) string {
	if l, ok := of.(statements.Labeled); ok {
		return l.Label()
	}
	return ""
}

// publish notes the request that the server is answering, for Flows.Look. The details of one do not change any more.
func (t *tracker) publish() {
	h := t.head()
	var d *details
	switch {
	case h == nil && t.Txn != 'I', h != nil && h.kind == requests.Sync: // what ran last goes on being shown
		return
	case h == nil:
	case h.hidden && (h.details == nil || h.details.plan == nil), h.kind == requests.Close && !h.hidden:
		return
	case h.kind == requests.Query, h.kind == requests.Parse:
		if h.details != nil && h.details.plan != nil {
			d = h.details
		}
	case h.kind != requests.FunctionCall:
		d = h.details
	}
	if t.current.Load() != d {
		t.current.Store(d)
	}
}

// heldMessages counts what the open transaction has taken. It belongs to the direction server to client, but for shown.
//
// The server does not say to which savepoint a transaction is rolled back. It is taken to be the last one, as with drivers and nested blocks it
// is; where it is another one, too many are counted until the transaction ends, never too few.
type heldMessages struct {
	shown atomic.Int64 // less than 0: not known
	n     int64
	some  bool // a statement has taken what its reply does not tell
	// savepoints are those set since the first message was taken, the last one at the end. Those before it need not be known: nothing was held then.
	savepoints []savepoint
}

// savepoint is what was held when savepoints were set, times of them in a row.
type savepoint struct {
	n     int64
	some  bool
	times int
}

// maxSavepoints bounds what is kept: of those beyond it nothing is known.
const maxSavepoints = 1000

func (h *heldMessages) any() bool { return h.n > 0 || h.some }

func (h *heldMessages) show() {
	n := h.n
	if h.some {
		n = -1
	}
	if h.shown.Load() != n {
		h.shown.Store(n)
	}
}

// took notes that a statement of the plan has completed with that tag.
func (h *heldMessages) took(plan statements.Plan, tag string) {
	taker, ok := plan.(statements.Taker)
	if !ok {
		return
	}
	switch taker.Takes() {
	case statements.TakesRows:
		h.n += rowsOf(tag)
	case statements.TakesSome:
		h.some = true
	default:
		return
	}
	h.show()
}

// suspended notes that a portal of the plan has more rows: how many a statement has taken is then not known.
func (h *heldMessages) suspended(plan statements.Plan) {
	if taker, ok := plan.(statements.Taker); ok && taker.Takes() != statements.TakesNothing {
		h.some = true
		h.show()
	}
}

// completed notes a command with that tag, where something is held.
func (h *heldMessages) completed(tag string) {
	last := len(h.savepoints) - 1
	switch tag {
	case "SAVEPOINT":
		switch {
		case last >= 0 && h.savepoints[last].n == h.n && h.savepoints[last].some == h.some:
			h.savepoints[last].times++
		case last+1 < maxSavepoints:
			h.savepoints = append(h.savepoints, savepoint{h.n, h.some, 1})
		default:
			h.some = true
		}
	case "RELEASE":
		if last < 0 {
			break
		}
		if h.savepoints[last].times--; h.savepoints[last].times == 0 {
			h.savepoints = h.savepoints[:last]
		}
	case "ROLLBACK":
		h.back()
	case "COMMIT", "PREPARE TRANSACTION":
		h.end()
		return
	}
	h.show()
}

// back goes back to what was held at the last savepoint, or to nothing.
func (h *heldMessages) back() {
	h.n, h.some = 0, false
	if last := len(h.savepoints) - 1; last >= 0 {
		h.n, h.some = h.savepoints[last].n, h.savepoints[last].some
	}
}

// ready notes the status of a ReadyForQuery, where something is held. What a transaction has taken since its last savepoint it loses when it fails.
func (h *heldMessages) ready(status byte) {
	switch status {
	case 'I':
		h.end()
	case 'E':
		h.back()
		h.show()
	}
}

func (h *heldMessages) end() {
	h.n, h.some, h.savepoints = 0, false, nil
	h.show()
}

// rowsOf is the number of rows that the tag of a CommandComplete ends with; 0 for one without.
func rowsOf(tag string) int64 {
	n, err := strconv.ParseInt(tag[strings.LastIndexByte(tag, ' ')+1:], 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
