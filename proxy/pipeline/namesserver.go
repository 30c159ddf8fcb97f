package pipeline

import (
	"mbusproxy/proxy/memory"
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// This file is what the direction server to client does with the table of names. If the replies can be read in several
// ways, reports are edited as in the likeliest of them; for prelude statements the bindings are then unclear.

// The command tags, of statements that take names away, for which the text of the statement need not be known.
const (
	tagDiscardAll    = "DISCARD ALL"
	tagDeallocateAll = "DEALLOCATE ALL"
)

// The command tags of statements that may take any name away where their text is not known.
const (
	tagDeallocate = "DEALLOCATE"
	tagDeclare    = "DECLARE CURSOR"
)

// planOf returns the plan by which a report in reply to o is edited, or nil. forgotten says that there may have been one.
func (n *names) planOf(o *request) (plan statements.Plan, forgotten bool) {
	if o == nil || o.details == nil {
		return nil, false
	}
	a := o.details
	if a.plan != nil {
		return a.plan, false
	}
	if !n.inUse() {
		return nil, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case o.kind == requests.Bind:
		return n.statements.planOf(a.statement)
	case o.kind == requests.Execute, o.kind == requests.Describe && a.ofPortal:
		return n.portals.planOf(a.portal)
	case o.kind == requests.Describe:
		return n.statements.planOf(a.statement)
	default:
		return nil, false
	}
}

func (t *nameTable) planOf(key string) (plan statements.Plan, forgotten bool) {
	if e := t.of[key]; e != nil && e.text != nil {
		return e.text.plan, e.text.forgotten
	}
	return nil, t.lost
}

// replied applies a reply of type typ to o, which is not hidden; tag is that of a CommandComplete. certain says that the
// replies can be read in one way only.
func (n *names) replied(o *request, typ byte, tag string, certain bool) {
	a := o.details
	if a == nil {
		// Sent before the session's first Plan; a name it replaces has none. Or malformed.
		return
	}
	if !n.inUse() && a.text == nil && len(a.bindings) == 0 {
		return // nothing to replace or to take away
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch typ {
	case wire.MsgParseComplete:
		n.statements.setText(a.statement, a.text)
		if n.statements.texts > 0 || n.statements.lost {
			n.used.Store(true)
		}
	case wire.MsgBindComplete:
		var from *text
		if e := n.statements.of[a.statement]; e != nil {
			from = e.text
		}
		n.portals.setText(a.portal, from)
		n.portals.lost = n.portals.lost || n.statements.lost
	case wire.MsgCloseComplete:
		if a.ofPortal {
			n.portals.setText(a.portal, nil)
		} else {
			n.statements.setText(a.statement, nil)
		}
	case wire.MsgErrorResponse:
		// The server drops the unnamed statement before it parses the new one; a named one stays,
		// for a Parse of an existing name is an error.
		if o.kind == requests.Parse && a.statement == "" {
			n.statements.setText("", nil)
		}
	}
	b := a.completedBy(typ, tag)
	if typ == wire.MsgCommandComplete {
		n.ran(o, b, tag)
	}
	if b == nil {
		return
	}
	if certain {
		n.settle(b, requests.Done)
	} else {
		n.settle(b, requests.Unclear)
	}
}

// completedBy returns the first of the bindings that such a reply completes, or nil.
func (a *details) completedBy(typ byte, tag string) *binding {
	for _, b := range a.bindings {
		if b.Is() == requests.Pending && b.doneBy(typ, tag) {
			return b
		}
	}
	return nil
}

// ran applies a CommandComplete with that tag. b is the binding that it completes, or nil.
func (n *names) ran(o *request, b *binding, tag string) {
	from := o.details.text
	if o.kind == requests.Execute {
		if e := n.portals.of[o.details.portal]; e != nil {
			from = e.text
		} else if n.portals.lost {
			from = &text{forgotten: true}
		}
	}
	switch {
	case tag == tagDiscardAll:
		n.statements.end(false)
		n.portals.end(true)
	case tag == tagDeallocateAll:
		n.statements.end(false)
	case b != nil:
		n.forget(tag, b.portal, b.name)
	case from == nil:
	case from.effect != nil && from.effect.Tag == tag:
		n.forget(tag, from.effect.Portal, from.effect.Name)
	case from.unread || from.forgotten:
		n.forget(tag, false, "")
	}
}

// forget is called when a statement with that tag has run, after which the name does not stand for its text. If the name is
// not known it may be any.
func (n *names) forget(tag string, portal bool, key string) {
	if key != "" {
		n.table(portal).setText(key, nil)
		return
	}
	switch tag {
	case tagDeallocate:
		n.statements.forget()
	case tagDeclare:
		n.portals.forget()
	}
}

// setText notes the text that the name stands for from now on; nil for none.
func (t *nameTable) setText(key string, from *text) {
	if from.memory() == 0 {
		from = nil
	}
	if e := t.of[key]; from == nil && (e == nil || e.text == nil) {
		return
	}
	t.change(key, func(e *name) {
		if e.text != nil {
			t.give(e.text.memory())
		}
		if e.text = from; from != nil && !t.take(from.memory()) {
			e.text = nil
		}
	})
}

// forget is called when any of the names may stand for another text, but for the unnamed one, which SQL does not reach.
func (t *nameTable) forget() {
	for key, e := range t.of {
		if key != "" && e.text != nil {
			t.setText(key, &text{forgotten: true})
		}
	}
}

// end is called when all names have ended, the unnamed one only if that is said.
func (t *nameTable) end(unnamed bool) {
	t.lost = false
	if t.texts+t.bound == 0 {
		return
	}
	for key := range t.of {
		if key != "" || unnamed {
			t.setText(key, nil)
			t.change(key, (*name).end)
		}
	}
}

// ready applies the ReadyForQuery that ends the reply to a Query, or to another request.
func (n *names) ready(query bool, status byte) {
	if !n.inUse() {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if query { // it drops the unnamed statement and portal
		n.statements.setText("", nil)
		n.portals.setText("", nil)
	}
	if status == 'I' { // no portal of the extended protocol outlives its transaction
		n.portals.end(true)
	}
}

// settled takes note of what has become of b.
func (n *names) settled(b *binding, state requests.State) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settle(b, state)
}

// settle is settled with mu held.
func (n *names) settle(b *binding, state requests.State) {
	if b.Is() != requests.Pending {
		return
	}
	b.Settle(state)
	if t := n.table(b.portal); t.of[b.name] != nil {
		t.change(b.name, func(e *name) { e.settle(b, state) })
	}
}

// inUse reports whether the table has ever held anything. It needs no lock.
func (n *names) inUse() bool { return n.used.Load() }

// share is called once, before anything else, with the budget of all sessions.
func (n *names) share(b *memory.Budget) { n.statements.budget, n.portals.budget = b, b }

// release gives back at the end of the session what it has of the budget.
func (n *names) release() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range []*nameTable{&n.statements, &n.portals} {
		t.of = nil
		t.give(t.size)
	}
}
