package pipeline

import "mbusproxy/proxy/wire"

// binding is what a name of a prepared statement or portal stands for from the moment when the server has run the
// request or statement that says so: Parse, Bind, Close, PREPARE, DECLARE, DEALLOCATE. A binding of the zero
// value says that the name stands for nothing that matters.
//
// The direction client to server makes bindings and sends them along with their requests. But for what names
// guards, they do not change then.
type binding struct {
	*outcome
	portal bool
	name   string
	// tag is that of the CommandComplete which says that it is done; empty when the completion of the request
	// itself does.
	tag string
	// segment counts the Syncs sent before the request; see name.look.
	segment uint64
	// simple: a Query brings it about; doubtful: behind requests that may have failed, so the server may skip
	// the Query and never reply to it.
	simple, doubtful bool

	text *text // of the statement, also where a portal of it is bound; nil: of no text that matters
	// prelude is the statement that must run before the portal does; nil for none. again is the Bind to be
	// sent again after it, because it may end the transaction.
	prelude Plan
	again   []byte
	// run is the last try to run prelude; nil before the first. It belongs to the direction client to server.
	run *preludeRun
	// unknown: a statement that was not read may have bound the name.
	unknown bool
}

// preludeRun is one try to run a prelude statement.
type preludeRun struct {
	*outcome
	segment uint64 // as in binding
}

// text is what is remembered of the text that a statement was prepared from.
type text struct {
	plan   Plan    // nil: there is none
	voids  []int   // with a bind-time plan: StatementContext.VoidParams
	effect *Effect // of executing it; nil for none
	// unread: the text was too long to be looked at, or could not be read for certain.
	unread bool
	// forgotten: it had a plan, and may still have it.
	forgotten bool
	// renames: executing it may bind any name. It is found out after the text was sent, and belongs to the
	// direction client to server.
	renames bool
}

// bindTime returns the plan if it is to be asked at each Bind.
func (t *text) bindTime() Plan {
	if t == nil || t.plan == nil || !t.plan.BindTime() {
		return nil
	}
	return t.plan
}

// memory is about how many bytes are kept to remember t for reports; 0: it says nothing.
func (t *text) memory() int {
	if t == nil || t.plan == nil && t.effect == nil && !t.unread && !t.forgotten {
		return 0
	}
	size := rememberedSize
	if t.plan != nil {
		size += len(t.plan.SQL())
	}
	if t.effect != nil {
		size += len(t.effect.Name)
	}
	return size
}

// matters reports whether b must be known before the name is used.
func (b *binding) matters() bool {
	if b.unknown || b.prelude != nil {
		return true
	}
	return b.text != nil && (b.text.effect != nil || b.text.unread || !b.portal && b.text.bindTime() != nil)
}

// size is how many bytes of texts and messages b keeps.
func (b *binding) size() int {
	n := len(b.again)
	if b.prelude != nil {
		n += len(b.prelude.SQL())
	}
	if plan := b.text.bindTime(); plan != nil && !b.portal {
		n += len(plan.SQL())
	}
	return n
}

// doneBy reports whether a reply of type typ to the binding's request says that it is done.
func (b *binding) doneBy(typ byte, tag string) bool {
	if b.tag != "" {
		return typ == wire.MsgCommandComplete && tag == b.tag
	}
	return completes(typ)
}

// completes reports whether a reply of type typ says that its request has run.
func completes(typ byte) bool {
	switch typ {
	case wire.MsgParseComplete, wire.MsgBindComplete, wire.MsgCloseComplete, wire.MsgCommandComplete, wire.MsgEmptyQueryResponse:
		return true
	}
	return false
}
