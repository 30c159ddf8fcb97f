package names

import (
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// Binding is what the name of a prepared statement or portal stands for from the moment when the
// server has run the request or statement that says so: Parse, Bind, Close, PREPARE, DECLARE,
// DEALLOCATE. Without Text, Prelude and Unknown it says that the name stands for nothing that
// matters.
//
// The direction client to server makes bindings, and they go along with their requests. From then on only the outcome
// changes, and Run.
type Binding struct {
	*requests.Outcome
	Portal bool
	Name   string
	// tag is that of the CommandComplete which says that it is done; empty when the completion of the request
	// itself does.
	tag string
	// Segment counts the Syncs sent before the request; see name.look.
	Segment uint64
	// Simple says that the request is a Query, Doubtful that it comes behind requests that may have failed: then the
	// server may skip it and never reply to it.
	Simple, Doubtful bool

	// Text is that of the prepared statement, also where a portal of it is bound; nil for one that does not matter.
	Text *Text
	// Prelude is the statement that must run before the portal does; nil for none. Again is the Bind to be
	// sent again after it, because it may end the transaction.
	Prelude statements.Plan
	Again   []byte
	// Run is the last try to run Prelude; nil before the first. It belongs to the direction client to server.
	Run *Run
	// Unknown says that a statement that was not read may have bound the name.
	Unknown bool
}

// Run is one try to run a prelude statement.
type Run struct {
	*requests.Outcome
	Segment uint64 // as in Binding
}

// Text is what is remembered of the text that a statement was prepared from.
type Text struct {
	Plan   statements.Plan    // nil for none
	Voids  []int              // statements.Context.VoidParams of a bind-time plan
	Effect *statements.Effect // of executing the statement; nil for none
	// Unread says that the text was too long to be read, or that it is not certain how the session reads it.
	Unread bool
	// forgotten says that the name had a plan, and may still have it.
	forgotten bool
	// Renames says that executing the statement may bind any name. That is known only when all of the text was sent. It
	// belongs to the direction client to server.
	Renames bool
}

// BindTime returns the plan if it is a bind-time plan, and else nil.
func (t *Text) BindTime() statements.Plan {
	if t == nil || t.Plan == nil || !t.Plan.BindTime() {
		return nil
	}
	return t.Plan
}

// Memory is about how many bytes it takes to remember t for reports; 0 if there is nothing to remember.
func (t *Text) Memory() int {
	if t == nil || t.Plan == nil && t.Effect == nil && !t.Unread && !t.forgotten {
		return 0
	}
	size := rememberedSize + VoidSize*len(t.Voids)
	if t.Plan != nil {
		size += t.Plan.Size()
	}
	if t.Effect != nil {
		size += len(t.Effect.Name)
	}
	return size
}

// VoidSize is the size of an entry of Text.Voids.
const VoidSize = 8

// matters reports whether prelude statements may depend on b, so that it must be known when the name is used.
func (b *Binding) matters() bool {
	if b.Unknown || b.Prelude != nil {
		return true
	}
	return b.Text != nil && (b.Text.Effect != nil || b.Text.Unread || !b.Portal && b.Text.BindTime() != nil)
}

// size is how many bytes of texts and messages b keeps.
func (b *Binding) size() int {
	n := len(b.Again)
	if b.Prelude != nil {
		n += b.Prelude.Size()
	}
	if b.Portal {
		return n // its text is the statement's
	}
	if plan := b.Text.BindTime(); plan != nil {
		n += plan.Size() + VoidSize*len(b.Text.Voids)
	}
	return n
}

// Use is what a request says of names: which it uses, and which it binds.
type Use struct {
	Statement string // Parse, Bind, Describe and Close of a statement
	Portal    string // Bind, Execute, Describe and Close of a portal
	OfPortal  bool   // Execute, Describe and Close: of a portal, not of a statement
	// Text is what is to be remembered of the text of a Parse. Of a Query it is used only to say that it was not read.
	Text     *Text
	Bindings []*Binding // that the request brings about, in order; nil nearly always
}

// doneBy reports whether a reply of type typ to the binding's request says that it is done.
func (b *Binding) doneBy(typ byte, tag string) bool {
	if b.tag != "" {
		return typ == wire.MsgCommandComplete && tag == b.tag
	}
	return requests.Completes(typ)
}
