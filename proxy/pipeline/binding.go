package pipeline

import (
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// binding is what the name of a prepared statement or portal stands for from the moment when the server has run the
// request or statement that says so: Parse, Bind, Close, PREPARE, DECLARE, DEALLOCATE. Without text, prelude and unknown it
// says that the name stands for nothing that matters.
//
// The direction client to server makes bindings, and they go along with their requests. From then on only the outcome
// changes, and run.
type binding struct {
	*requests.Outcome
	portal bool
	name   string
	// tag is that of the CommandComplete which says that it is done; empty when the completion of the request
	// itself does.
	tag string
	// segment counts the Syncs sent before the request; see name.look.
	segment uint64
	// simple says that the request is a Query, doubtful that it comes behind requests that may have failed: then the
	// server may skip it and never reply to it.
	simple, doubtful bool

	// text is that of the prepared statement, also where a portal of it is bound; nil for one that does not matter.
	text *text
	// prelude is the statement that must run before the portal does; nil for none. again is the Bind to be
	// sent again after it, because it may end the transaction.
	prelude statements.Plan
	again   []byte
	// run is the last try to run prelude; nil before the first. It belongs to the direction client to server.
	run *preludeRun
	// unknown says that a statement that was not read may have bound the name.
	unknown bool
}

// preludeRun is one try to run a prelude statement.
type preludeRun struct {
	*requests.Outcome
	segment uint64 // as in binding
}

// text is what is remembered of the text that a statement was prepared from.
type text struct {
	plan   statements.Plan    // nil for none
	voids  []int              // statements.Context.VoidParams of a bind-time plan
	effect *statements.Effect // of executing the statement; nil for none
	// unread says that the text was too long to be read, or that it is not certain how the session reads it.
	unread bool
	// forgotten says that the name had a plan, and may still have it.
	forgotten bool
	// renames says that executing the statement may bind any name. That is known only when all of the text was sent. It
	// belongs to the direction client to server.
	renames bool
}

// bindTime returns the plan if it is a bind-time plan, and else nil.
func (t *text) bindTime() statements.Plan {
	if t == nil || t.plan == nil || !t.plan.BindTime() {
		return nil
	}
	return t.plan
}

// memory is about how many bytes it takes to remember t for reports; 0 if there is nothing to remember.
func (t *text) memory() int {
	if t == nil || t.plan == nil && t.effect == nil && !t.unread && !t.forgotten {
		return 0
	}
	size := rememberedSize + voidSize*len(t.voids)
	if t.plan != nil {
		size += t.plan.Size()
	}
	if t.effect != nil {
		size += len(t.effect.Name)
	}
	return size
}

// voidSize is the size of an entry of text.voids.
const voidSize = 8

// matters reports whether prelude statements may depend on b, so that it must be known when the name is used.
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
		n += b.prelude.Size()
	}
	if plan := b.text.bindTime(); plan != nil && !b.portal {
		n += plan.Size() + voidSize*len(b.text.voids)
	}
	return n
}

// doneBy reports whether a reply of type typ to the binding's request says that it is done.
func (b *binding) doneBy(typ byte, tag string) bool {
	if b.tag != "" {
		return typ == wire.MsgCommandComplete && tag == b.tag
	}
	return requests.Completes(typ)
}
