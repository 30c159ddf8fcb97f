package pipeline

import (
	"slices"

	"mbusproxy/proxy/wire"
)

// requestKind says to what message of the client a reply is owed.
type requestKind uint8

const (
	kindQuery requestKind = iota + 1
	kindFunctionCall
	kindParse
	kindBind
	kindDescribe
	kindExecute
	kindClose
	kindSync
	// copyEnd marks a CopyDone or CopyFail. Nothing is owed to it; it tells which of the messages
	// queued behind a COPY FROM STDIN the server has read as part of it.
	copyEnd
)

func (k requestKind) String() string {
	switch k {
	case kindQuery:
		return "Query"
	case kindFunctionCall:
		return "FunctionCall"
	case kindParse:
		return "Parse"
	case kindBind:
		return "Bind"
	case kindDescribe:
		return "Describe"
	case kindExecute:
		return "Execute"
	case kindClose:
		return "Close"
	case kindSync:
		return "Sync"
	case copyEnd:
		return "end of COPY"
	default:
		return "nothing"
	}
}

// extended reports whether an error in answer to the message makes the server skip until Sync.
func (k requestKind) extended() bool { return k >= kindParse && k <= kindClose }

// flushes reports whether the server sends what it has to say at the end of its reply to k.
func (k requestKind) flushes() bool { return k == kindQuery || k == kindFunctionCall || k == kindSync }

// accepts reports whether a message of type typ can be (part of) the reply to k.
func (k requestKind) accepts(typ byte) bool {
	switch k {
	case kindQuery:
		switch typ {
		case wire.MsgRowDescription, wire.MsgDataRow, wire.MsgCommandComplete, wire.MsgEmptyQueryResponse,
			wire.MsgCopyInResponse, wire.MsgCopyOutResponse, wire.MsgCopyBothResponse, wire.MsgCopyData, wire.MsgCopyDone,
			wire.MsgErrorResponse, wire.MsgReadyForQuery:
			return true
		}
		return false
	case kindFunctionCall:
		return typ == wire.MsgFunctionCallResponse || typ == wire.MsgErrorResponse || typ == wire.MsgReadyForQuery
	case kindParse:
		return typ == wire.MsgParseComplete || typ == wire.MsgErrorResponse
	case kindBind:
		return typ == wire.MsgBindComplete || typ == wire.MsgErrorResponse
	case kindDescribe:
		return typ == wire.MsgParameterDescription || typ == wire.MsgRowDescription || typ == wire.MsgNoData ||
			typ == wire.MsgErrorResponse
	case kindExecute:
		switch typ {
		case wire.MsgDataRow, wire.MsgCommandComplete, wire.MsgEmptyQueryResponse, wire.MsgPortalSuspended,
			wire.MsgCopyInResponse, wire.MsgCopyOutResponse, wire.MsgCopyBothResponse, wire.MsgCopyData, wire.MsgCopyDone,
			wire.MsgErrorResponse:
			return true
		}
		return false
	case kindClose:
		return typ == wire.MsgCloseComplete || typ == wire.MsgErrorResponse
	case kindSync:
		return typ == wire.MsgReadyForQuery || typ == wire.MsgErrorResponse
	default:
		return false
	}
}

// owed is one entry of the queue of expected replies.
type request struct {
	kind requestKind
	// hidden: the message is ours, and but for errors and notices the client does not see replies.
	hidden bool
	// size is about how many bytes of texts about keeps.
	size uint32
	// about is nil in a session that never had a Plan.
	details *details
}

// about is what a reply means for the names and plans of the session. Immutable once queued.
type details struct {
	plan      Plan   // of a Query, Parse or step; may be nil
	hide      []int  // Plan.Hidden of a Query
	tag       string // Plan.Tag of a Query
	statement string // Parse, Bind, Describe and Close of a statement
	portal    string // Bind, Execute, Describe and Close of a portal
	ofPortal  bool   // Describe and Close: portal is meant, not statement
	// text is what is to be remembered of the text of a Parse. Of a Query only text.unread is used.
	text     *text
	unread   bool        // Query and Parse: the text was too long to be looked at
	probe    *probe      // of ours: its reply is the answer to this probe query
	quiet    *probe      // of a probe query with a Sync of its own: keeps its error, which is not for the client
	run      *preludeRun // of ours: the prelude statement has run when this has
	instead  []byte      // the error that the client gets when the message fails; nil nearly always
	bindings []*binding  // of names, in the order in which the server comes to them; nil nearly always
}

// outcomes reports whether anything waits for what becomes of the message.
func (a *details) outcomes() bool { return len(a.bindings) > 0 || a.probe != nil || a.run != nil }

// answered settles what a reply of type typ says of a message of ours.
func (o *request) answered(typ byte, certain bool) {
	if o.details == nil || !completes(typ) {
		return
	}
	as := done
	if !certain {
		as = unclear
	}
	o.details.settleOurs(as)
}

func (a *details) settleOurs(as outcomeState) {
	if a.probe != nil {
		a.probe.settle(as)
	}
	if a.run != nil {
		a.run.settle(as)
	}
}

// settle settles what is not settled yet.
func (o *request) settle(n *names, as outcomeState) {
	if o.details == nil {
		return
	}
	o.details.settleOurs(as)
	for _, b := range o.details.bindings {
		n.settled(b, as)
	}
}

// undo settles what is left of an entry that all readings have behind them.
func (o *request) undo(n *names) { o.settle(n, undone) }

// size is about how many bytes a keeps.
func (a *details) size() int {
	n := len(a.statement) + len(a.portal) + len(a.instead) + 128*len(a.bindings)
	if a.plan != nil {
		n += len(a.plan.SQL())
	}
	for _, b := range a.bindings {
		n += len(b.name)
	}
	return n
}

// hides reports whether the client is not to see a reply of type typ, after done statements of a
// Query have completed.
func (o *request) hides(typ byte, done int) bool {
	if o.hidden {
		// A question that fails before a Query stands for the Query, up to its end.
		fails := typ == wire.MsgReadyForQuery && o.kind == kindQuery && o.details.probe.is() == pending && !o.details.probe.hushed
		return typ != wire.MsgErrorResponse && !fails
	}
	return typ == wire.MsgCommandComplete && o.kind == kindQuery && o.details != nil && slices.Contains(o.details.hide, done)
}

// Bounds of what is owed at a time. Beyond them the client is not read until the server has replied to half of
// it; see clientFlow.full.
const (
	maxOutstanding      = 4096      // messages
	maxOutstandingBytes = 256 << 10 // owed.size of all
)

// requestQueue is a queue of owed replies; it grows as needed and gives memory back when empty.
type requestQueue struct {
	entries []request // length is zero or a power of two
	head    int
	n       int
	size    int // owed.size of all
	ends    int // entries of kinds that flush
	copies  int // entries that are ends of COPY
}

const (
	queueSmall = 8   // entries of the first allocation
	queueKeep  = 256 // entries an empty requestQueue may keep
)

func (r *requestQueue) at(i int) *request { return &r.entries[(r.head+i)&(len(r.entries)-1)] }

func (r *requestQueue) push(o request) {
	if r.n == len(r.entries) {
		grown := make([]request, max(queueSmall, 2*len(r.entries)))
		for i := range r.n {
			grown[i] = *r.at(i)
		}
		r.entries, r.head = grown, 0
	}
	r.n++
	r.count(&o, 1)
	*r.at(r.n - 1) = o
}

// count adds o to what is counted, or takes it off with -1.
func (r *requestQueue) count(o *request, n int) {
	r.size += n * int(o.size)
	switch {
	case o.kind.flushes():
		r.ends += n
	case o.kind == copyEnd:
		r.copies += n
	}
}

// pop drops the head.
func (r *requestQueue) pop() {
	r.count(r.at(0), -1)
	*r.at(0) = request{}
	r.head = (r.head + 1) & (len(r.entries) - 1)
	r.n--
	if r.n == 0 && len(r.entries) > queueKeep {
		r.entries, r.head = nil, 0
	}
}
