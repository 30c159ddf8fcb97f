package pipeline

import (
	"slices"

	"mbusproxy/proxy/pipeline/names"
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// request is a message that the server replies to, from the moment when it is about to be sent
// until its last reply has come.
type request struct {
	kind requests.Kind
	// hidden says that the message is ours: of its replies the client sees errors and notices only.
	hidden bool
	// ran says that Plan.Ran has been called for it.
	ran bool
	// size is about how many bytes details keeps.
	size uint32
	// details is nil in a session that never had a Plan, so that there an entry of the queue is small.
	details *details
}

// runs reports whether the server may run something of the client's on the request: a Bind reads
// values, which functions may check.
func (r request) runs() bool {
	return r.kind != requests.Parse && r.kind != requests.Describe && r.kind != requests.Close
}

// details are the fields of a request in a session that has had a Plan. They do not change once it is queued.
type details struct {
	names.Use
	plan       statements.Plan    // of a Query, Parse or prelude statement; nil for none
	hiddenTags []int              // Plan.HiddenTags of a Query
	tag        string             // Plan.Tag of a Query
	unread     bool               // Query and Parse: the text was too long to be looked at
	probe      *probe             // of a message of ours: its reply is the answer to this probe query
	errorTo    *probe             // of a message of ours: its error is kept with this probe query, and not sent to the client
	run        *names.Run         // of the Execute of a prelude statement: the try that its outcome settles
	lost       *probe             // of a message of ours: the probe query that is sent again if the statement prepared for it is gone
	instead    []byte             // the ErrorResponse that the client gets when the request fails; nil nearly always
	unnamed    *requests.Outcome  // of a message that may change what is unnamed: see standIn, unnamedPortal; nil nearly always
	own        string             // the name of the statement of ours that the message uses in the place of the client's unnamed one
	synced     *requests.Outcome  // of a Sync of ours that ends the transaction of a look; nil nearly always
	prepared   bool               // it prepares or uses a statement of ours for a text of the client's; a Sync, a Describe or an Execute stands for a Query
	asQuery    bool               // it stands for a Query that may return no rows
	again      bool               // what the client sent can be sent again, if the server cannot use that statement: see resend
	plain      statements.Plan    // then, of a Query: its own Plan
	extra      bool               // own has Repeated.Extra
	trace      statements.Trace   // of what the message runs; nil nearly always
	values     statements.Signals // of a Bind: what its values mean
}

// outcomes reports whether it matters to anything what becomes of the request.
func (d *details) outcomes() bool { return len(d.Bindings) > 0 || d.probe != nil || d.run != nil }

// answered settles what hangs on a message of ours if a reply of type typ completes it. certain
// says that the replies can be read in one way only.
func (r *request) answered(typ byte, certain bool) {
	failed := r.kind == requests.Query && typ == wire.MsgErrorResponse // it was not skipped
	if r.details == nil || !failed && !requests.Completes(typ) {
		return
	}
	as := requests.Done
	if !certain {
		as = requests.Unclear
	}
	if failed {
		r.details.settleUnnamed(as)
		return
	}
	r.details.settleOurs(as)
}

// settleOurs settles what hangs on a message of ours.
func (d *details) settleOurs(as requests.State) {
	if d.probe != nil {
		d.probe.Settle(as)
	}
	if d.run != nil {
		d.run.Settle(as)
	}
	d.settleUnnamed(as)
	if d.synced != nil {
		d.synced.Settle(as)
	}
}

func (d *details) settleUnnamed(as requests.State) {
	if d.unnamed != nil {
		d.unnamed.Settle(as)
	}
}

// settle settles all that hangs on the request and is not settled yet.
func (r *request) settle(n *names.Table, as requests.State) {
	if r.details == nil {
		return
	}
	r.details.settleOurs(as)
	for _, b := range r.details.Bindings {
		n.Settled(b, as)
	}
}

// undo settles what is left when the server has replied to the request, or skips it.
func (r *request) undo(n *names.Table) { r.settle(n, requests.Undone) }

// bindingSize is about what a binding takes beside its texts, in bytes.
const bindingSize = 256

// size is about how many bytes d keeps.
func (d *details) size() int {
	n := len(d.Statement) + len(d.Portal) + len(d.instead) + bindingSize*len(d.Bindings)
	if d.plan != nil && !d.prepared { // of those one is outstanding
		n += d.plan.Size()
	}
	if d.Text != nil {
		n += names.VoidSize * len(d.Text.Voids)
	}
	for _, b := range d.Bindings {
		n += len(b.Name)
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
		fails := typ == wire.MsgReadyForQuery && r.kind == requests.Query && r.details.probe.Is() == requests.Pending && !r.details.probe.suppressed
		return typ != wire.MsgErrorResponse && !fails
	}
	if typ == wire.MsgNoData && r.details != nil && r.details.asQuery {
		return true // to a Query that returns no rows the server says nothing of them
	}
	return typ == wire.MsgCommandComplete && r.kind == requests.Query && r.details != nil && slices.Contains(r.details.hiddenTags, done)
}
