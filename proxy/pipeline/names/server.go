package names

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
	TagDiscardAll    = "DISCARD ALL"
	TagDeallocateAll = "DEALLOCATE ALL"
)

// The command tags of statements that may take any name away where their text is not known.
const (
	tagDeallocate = "DEALLOCATE"
	tagDeclare    = "DECLARE CURSOR"
)

// PlanOf returns the plan by which a report in reply to a request of that kind is edited, or nil.
// forgotten says that there may have been one.
func (n *Table) PlanOf(kind requests.Kind, a *Use) (plan statements.Plan, forgotten bool) {
	if !n.InUse() {
		return nil, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case kind == requests.Bind:
		return n.statements.planOf(a.Statement)
	case kind == requests.Execute, kind == requests.Describe && a.OfPortal:
		return n.portals.planOf(a.Portal)
	case kind == requests.Describe:
		return n.statements.planOf(a.Statement)
	default:
		return nil, false
	}
}

func (t *nameTable) planOf(key string) (plan statements.Plan, forgotten bool) {
	if e := t.of[key]; e != nil && e.text != nil {
		return e.text.Plan, e.text.forgotten
	}
	return nil, t.lost
}

// Labeled returns the plan that the statement or portal has which a Bind, Describe or Execute names; nil for none.
func (n *Table) Labeled(a *Use) statements.Plan {
	if !n.InUse() {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	table, key := &n.statements, a.Statement
	if a.OfPortal {
		table, key = &n.portals, a.Portal
	}
	plan, _ := table.planOf(key)
	return plan
}

// Replied applies a reply of type typ to a request of that kind, which is not hidden; tag is that
// of a CommandComplete. certain says that the replies can be read in one way only.
func (n *Table) Replied(kind requests.Kind, a *Use, typ byte, tag string, certain bool) {
	if !n.InUse() && a.Text == nil && len(a.Bindings) == 0 {
		return // nothing to replace or to take away
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch typ {
	case wire.MsgParseComplete:
		n.statements.setText(a.Statement, a.Text)
		if n.statements.texts > 0 || n.statements.lost {
			n.used.Store(true)
		}
	case wire.MsgBindComplete:
		var from *Text
		if e := n.statements.of[a.Statement]; e != nil {
			from = e.text
		}
		n.portals.setText(a.Portal, from)
		n.portals.lost = n.portals.lost || n.statements.lost
	case wire.MsgCloseComplete:
		if a.OfPortal {
			n.portals.setText(a.Portal, nil)
		} else {
			n.statements.setText(a.Statement, nil)
		}
	case wire.MsgErrorResponse:
		// The server drops the unnamed statement before it parses the new one; a named one stays,
		// for a Parse of an existing name is an error.
		if kind == requests.Parse && a.Statement == "" {
			n.statements.setText("", nil)
		}
	}
	b := a.completedBy(typ, tag)
	if typ == wire.MsgCommandComplete {
		n.ran(kind, a, b, tag)
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
func (a *Use) completedBy(typ byte, tag string) *Binding {
	for _, b := range a.Bindings {
		if b.Is() == requests.Pending && b.doneBy(typ, tag) {
			return b
		}
	}
	return nil
}

// ran applies a CommandComplete with that tag. b is the binding that it completes, or nil.
func (n *Table) ran(kind requests.Kind, a *Use, b *Binding, tag string) {
	from := a.Text
	if kind == requests.Execute {
		if e := n.portals.of[a.Portal]; e != nil {
			from = e.text
		} else if n.portals.lost {
			from = &Text{forgotten: true}
		}
	}
	switch {
	case tag == TagDiscardAll:
		n.statements.end(false)
		n.portals.end(true)
	case tag == TagDeallocateAll:
		n.statements.end(false)
	case b != nil:
		n.forget(tag, b.Portal, b.Name)
	case from == nil:
	case from.Effect != nil && from.Effect.Tag == tag:
		n.forget(tag, from.Effect.Portal, from.Effect.Name)
	case from.Unread || from.forgotten:
		n.forget(tag, false, "")
	}
}

// forget is called when a statement with that tag has run, after which the name does not stand for
// its text. If the name is not known it may be any.
func (n *Table) forget(tag string, portal bool, key string) {
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
func (t *nameTable) setText(key string, from *Text) {
	if from.Memory() == 0 {
		from = nil
	}
	if e := t.of[key]; from == nil && (e == nil || e.text == nil) {
		return
	}
	t.change(key, func(e *name) {
		if e.text != nil {
			t.give(e.text.Memory())
		}
		if e.text = from; from != nil && !t.take(from.Memory()) {
			e.text = nil
		}
	})
}

// forget is called when any of the names may stand for another text, but for the unnamed one, which SQL does not reach.
func (t *nameTable) forget() {
	for key, e := range t.of {
		if key != "" && e.text != nil {
			t.setText(key, &Text{forgotten: true})
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

// Ready applies the ReadyForQuery that ends the reply to a Query, or to another request.
func (n *Table) Ready(query bool, status byte) {
	if !n.InUse() {
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

// Settled takes note of what has become of b.
func (n *Table) Settled(b *Binding, state requests.State) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settle(b, state)
}

// settle is settled with mu held.
func (n *Table) settle(b *Binding, state requests.State) {
	if b.Is() != requests.Pending {
		return
	}
	b.Settle(state)
	if t := n.table(b.Portal); t.of[b.Name] != nil {
		t.change(b.Name, func(e *name) { e.settle(b, state) })
	}
}

// InUse reports whether the table has ever held anything. It needs no lock.
func (n *Table) InUse() bool { return n.used.Load() }

// Share is called once, before anything else, with the budget of all sessions.
func (n *Table) Share(b *memory.Budget) { n.statements.budget, n.portals.budget = b, b }

// Release gives back at the end of the session what it has of the budget.
func (n *Table) Release() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range []*nameTable{&n.statements, &n.portals} {
		t.of = nil
		t.give(t.size)
	}
}
