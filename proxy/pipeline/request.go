package pipeline

import (
	"slices"

	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// requestKind is the message of the client that a request is.
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
	// copyEnd is a CopyDone or CopyFail. The server does not reply to it; it tells which of the requests
	// behind a COPY FROM STDIN the server has read as part of it.
	copyEnd
)

// kindOf returns the kind of request that a message of the client is; 0: none.
func kindOf(typ byte) requestKind {
	switch typ {
	case wire.MsgQuery:
		return kindQuery
	case wire.MsgFunctionCall:
		return kindFunctionCall
	case wire.MsgParse:
		return kindParse
	case wire.MsgBind:
		return kindBind
	case wire.MsgDescribe:
		return kindDescribe
	case wire.MsgExecute:
		return kindExecute
	case wire.MsgClose:
		return kindClose
	case wire.MsgSync:
		return kindSync
	default:
		return 0
	}
}

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
		return "none"
	}
}

// extended reports whether the server, after an error in reply to the request, skips all up to the next Sync.
func (k requestKind) extended() bool { return k >= kindParse && k <= kindClose }

// flushes reports whether the server sends what it has to say at the end of its reply to k.
func (k requestKind) flushes() bool { return k == kindQuery || k == kindFunctionCall || k == kindSync }

// runs reports whether the server may run something of the client's on the request: a Bind reads values, which functions may check.
func (r request) runs() bool {
	return r.kind != kindParse && r.kind != kindDescribe && r.kind != kindClose
}

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

// request is a message that the server replies to, from the moment when it is about to be sent until its last reply has come.
type request struct {
	kind requestKind
	// hidden says that the message is ours: of its replies the client sees errors and notices only.
	hidden bool
	// ran says that Plan.Ran has been called for it.
	ran bool
	// size is about how many bytes details keeps.
	size uint32
	// details is nil in a session that never had a Plan, so that there an entry of the queue is small.
	details *details
}

// details are the fields of a request in a session that has had a Plan. They do not change once it is queued.
type details struct {
	plan       statements.Plan // of a Query, Parse or prelude statement; nil for none
	hiddenTags []int           // Plan.HiddenTags of a Query
	tag        string          // Plan.Tag of a Query
	statement  string          // Parse, Bind, Describe and Close of a statement
	portal     string          // Bind, Execute, Describe and Close of a portal
	ofPortal   bool            // Execute, Describe and Close: of a portal, not of a statement
	// text is what is to be remembered of the text of a Parse. Of a Query it is used only to say that it was not read.
	text     *text
	unread   bool             // Query and Parse: the text was too long to be looked at
	probe    *probe           // of a message of ours: its reply is the answer to this probe query
	errorTo  *probe           // of a message of ours: its error is kept with this probe query, and not sent to the client
	run      *preludeRun      // of the Execute of a prelude statement: the try that its outcome settles
	lost     *probe           // of a message of ours: the probe query that is sent again if the statement prepared for it is gone
	instead  []byte           // the ErrorResponse that the client gets when the request fails; nil nearly always
	bindings []*binding       // that the request brings about, in order; nil nearly always
	unnamed  *outcome         // of a Parse that may end a stand-in for the unnamed statement; nil nearly always
	own      string           // the name of the statement of ours that the message uses in the place of the client's unnamed one
	synced   *outcome         // of a Sync of ours that ends the transaction of a look; nil nearly always
	prepared bool             // it prepares or uses a statement of ours for a text of the client's; a Sync, a Describe or an Execute stands for a Query
	asQuery  bool             // it stands for a Query that may return no rows
	again    bool             // what the client sent can be sent again, if the server cannot use that statement: see resend
	plain    statements.Plan  // then, of a Query: its own Plan
	extra    bool             // own has Repeated.Extra
	trace    statements.Trace // of what the message runs; nil nearly always
}

// outcomes reports whether it matters to anything what becomes of the request.
func (d *details) outcomes() bool { return len(d.bindings) > 0 || d.probe != nil || d.run != nil }

// answered settles what hangs on a message of ours if a reply of type typ completes it. certain says that the replies can be
// read in one way only.
func (r *request) answered(typ byte, certain bool) {
	if r.details == nil || !completes(typ) {
		return
	}
	as := done
	if !certain {
		as = unclear
	}
	r.details.settleOurs(as)
}

// settleOurs settles what hangs on a message of ours.
func (d *details) settleOurs(as outcomeState) {
	if d.probe != nil {
		d.probe.settle(as)
	}
	if d.run != nil {
		d.run.settle(as)
	}
	if d.unnamed != nil {
		d.unnamed.settle(as)
	}
	if d.synced != nil {
		d.synced.settle(as)
	}
}

// settle settles all that hangs on the request and is not settled yet.
func (r *request) settle(n *names, as outcomeState) {
	if r.details == nil {
		return
	}
	r.details.settleOurs(as)
	for _, b := range r.details.bindings {
		n.settled(b, as)
	}
}

// undo settles what is left when the server has replied to the request, or skips it.
func (r *request) undo(n *names) { r.settle(n, undone) }

// bindingSize is about what a binding takes beside its texts, in bytes.
const bindingSize = 256

// size is about how many bytes d keeps.
func (d *details) size() int {
	n := len(d.statement) + len(d.portal) + len(d.instead) + bindingSize*len(d.bindings)
	if d.plan != nil && !d.prepared { // of those one is outstanding
		n += d.plan.Size()
	}
	if d.text != nil {
		n += voidSize * len(d.text.voids)
	}
	for _, b := range d.bindings {
		n += len(b.name)
	}
	if d.unnamed != nil {
		n += bindingSize
	}
	return n
}

// hides reports whether the client is not to see a reply of type typ, after done statements of a
// Query have completed.
func (r *request) hides(typ byte, done int) bool {
	if r.hidden {
		// The failure of a probe query stands for that of the Query it comes before, up to ReadyForQuery.
		fails := typ == wire.MsgReadyForQuery && r.kind == kindQuery && r.details.probe.is() == pending && !r.details.probe.suppressed
		return typ != wire.MsgErrorResponse && !fails
	}
	if typ == wire.MsgNoData && r.details != nil && r.details.asQuery {
		return true // to a Query that returns no rows the server says nothing of them
	}
	return typ == wire.MsgCommandComplete && r.kind == kindQuery && r.details != nil && slices.Contains(r.details.hiddenTags, done)
}
