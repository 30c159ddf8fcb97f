package pipeline

import (
	"slices"

	"mbusproxy/proxy/wire"
)

// replyKind says to what message of the client a reply is owed.
type replyKind uint8

const (
	owedQuery replyKind = iota + 1
	owedFunctionCall
	owedParse
	owedBind
	owedDescribe
	owedExecute
	owedClose
	owedSync
	// copyEnd marks a CopyDone or CopyFail. Nothing is owed to it; it tells which of the messages
	// queued behind a COPY FROM STDIN the server has read as part of it.
	copyEnd
)

func (k replyKind) String() string {
	switch k {
	case owedQuery:
		return "Query"
	case owedFunctionCall:
		return "FunctionCall"
	case owedParse:
		return "Parse"
	case owedBind:
		return "Bind"
	case owedDescribe:
		return "Describe"
	case owedExecute:
		return "Execute"
	case owedClose:
		return "Close"
	case owedSync:
		return "Sync"
	case copyEnd:
		return "end of COPY"
	default:
		return "nothing"
	}
}

// extended reports whether an error in answer to the message makes the server skip until Sync.
func (k replyKind) extended() bool { return k >= owedParse && k <= owedClose }

// flushes reports whether the server sends what it has to say at the end of its reply to k.
func (k replyKind) flushes() bool { return k == owedQuery || k == owedFunctionCall || k == owedSync }

// accepts reports whether a message of type typ can be (part of) the reply to k.
func (k replyKind) accepts(typ byte) bool {
	switch k {
	case owedQuery:
		switch typ {
		case wire.MsgRowDescription, wire.MsgDataRow, wire.MsgCommandComplete, wire.MsgEmptyQueryResponse,
			wire.MsgCopyInResponse, wire.MsgCopyOutResponse, wire.MsgCopyBothResponse, wire.MsgCopyData, wire.MsgCopyDone,
			wire.MsgErrorResponse, wire.MsgReadyForQuery:
			return true
		}
		return false
	case owedFunctionCall:
		return typ == wire.MsgFunctionCallResponse || typ == wire.MsgErrorResponse || typ == wire.MsgReadyForQuery
	case owedParse:
		return typ == wire.MsgParseComplete || typ == wire.MsgErrorResponse
	case owedBind:
		return typ == wire.MsgBindComplete || typ == wire.MsgErrorResponse
	case owedDescribe:
		return typ == wire.MsgParameterDescription || typ == wire.MsgRowDescription || typ == wire.MsgNoData ||
			typ == wire.MsgErrorResponse
	case owedExecute:
		switch typ {
		case wire.MsgDataRow, wire.MsgCommandComplete, wire.MsgEmptyQueryResponse, wire.MsgPortalSuspended,
			wire.MsgCopyInResponse, wire.MsgCopyOutResponse, wire.MsgCopyBothResponse, wire.MsgCopyData, wire.MsgCopyDone,
			wire.MsgErrorResponse:
			return true
		}
		return false
	case owedClose:
		return typ == wire.MsgCloseComplete || typ == wire.MsgErrorResponse
	case owedSync:
		return typ == wire.MsgReadyForQuery || typ == wire.MsgErrorResponse
	default:
		return false
	}
}

// owed is one entry of the queue of expected replies.
type owed struct {
	kind replyKind
	// hidden: the message is ours, and but for errors and notices the client does not see replies.
	hidden bool
	// size is about how many bytes of texts about keeps.
	size uint32
	// about is nil in a session that never had a Plan.
	about *about
}

// about is what a reply means for the names and plans of the session. Immutable once queued.
type about struct {
	plan      Plan    // of a Query, Parse or step; may be nil
	hide      []int   // Plan.Hidden of a Query
	tag       string  // Plan.Tag of a Query
	statement string  // Parse, Bind, Describe and Close of a statement
	portal    string  // Bind, Execute, Describe and Close of a portal
	ofPortal  bool    // Describe and Close: portal is meant, not statement
	drops     drops   // what DEALLOCATE in the text of a Query or Parse drops
	unread    bool    // Query and Parse: the text was too long to be looked at
	asks      *deed   // of a question: the one among deeds that is its answer
	quiet     *deed   // of a question with a Sync of its own: keeps its error, which is not for the client
	instead   []byte  // the error that the client gets when the message fails; nil nearly always
	deeds     []*deed // what the message may bring about, in order; nil nearly always
}

// size is about how many bytes a keeps.
func (a *about) size() int {
	n := len(a.statement) + len(a.portal) + len(a.instead) + 64*len(a.deeds)
	if a.plan != nil {
		n += len(a.plan.SQL())
	}
	for _, name := range a.drops.names {
		n += len(name)
	}
	return n
}

// hides reports whether the client is not to see a reply of type typ, after done statements of a
// Query have completed.
func (o *owed) hides(typ byte, done int) bool {
	if o.hidden {
		// A question that fails before a Query stands for the Query, up to its end.
		fails := typ == wire.MsgReadyForQuery && o.kind == owedQuery && o.about.asks.pending() && !o.about.asks.hushed
		return typ != wire.MsgErrorResponse && !fails
	}
	return typ == wire.MsgCommandComplete && o.kind == owedQuery && o.about != nil && slices.Contains(o.about.hide, done)
}

// Bounds of what is owed at a time. Beyond them the client is not read until the server has replied to half of
// it; see ClientFlow.full.
const (
	maxOwed      = 4096      // messages
	maxOwedBytes = 256 << 10 // owed.size of all
)

// ring is a queue of owed replies; it grows as needed and gives memory back when empty.
type ring struct {
	entries []owed // length is zero or a power of two
	head    int
	n       int
	size    int // owed.size of all
	ends    int // entries of kinds that flush
	copies  int // entries that are ends of COPY
}

const (
	ringSmall = 8   // entries of the first allocation
	ringKeep  = 256 // entries an empty ring may keep
)

func (r *ring) at(i int) *owed { return &r.entries[(r.head+i)&(len(r.entries)-1)] }

func (r *ring) push(o owed) {
	if r.n == len(r.entries) {
		grown := make([]owed, max(ringSmall, 2*len(r.entries)))
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
func (r *ring) count(o *owed, n int) {
	r.size += n * int(o.size)
	switch {
	case o.kind.flushes():
		r.ends += n
	case o.kind == copyEnd:
		r.copies += n
	}
}

// pop drops the head.
func (r *ring) pop() {
	r.at(0).undo()
	r.count(r.at(0), -1)
	*r.at(0) = owed{}
	r.head = (r.head + 1) & (len(r.entries) - 1)
	r.n--
	if r.n == 0 && len(r.entries) > ringKeep {
		r.entries, r.head = nil, 0
	}
}
