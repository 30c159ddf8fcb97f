package names

import (
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// This file is what the direction client to server does with the table of names.

// Look is name.look for the name.
func (n *Table) Look(portal bool, key string, segment uint64) (b *Binding, wait *requests.Outcome, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e := n.table(portal).of[key]; e != nil {
		return e.look(segment)
	}
	return nil, nil, nil
}

// Note adds a binding that is about to be sent, and returns it; nil where it makes no difference.
func (n *Table) Note(b *Binding) []*Binding {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.table(b.Portal)
	if e := t.of[b.Name]; !b.matters() && (e == nil || !e.matters()) {
		return nil
	}
	n.used.Store(true)
	b.Outcome = requests.NewOutcome()
	t.change(b.Name, func(e *name) { e.add(b) })
	return []*Binding{b}
}

// NoteEffects adds the bindings that the statements of a text bring about; like has what is the
// same for all. It returns those that make no difference to prelude statements, too: only the order
// of the server's command tags tells them apart.
func (n *Table) NoteEffects(effects []statements.Effect, like Binding) (bindings []*Binding) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, effect := range effects {
		b := like
		b.Outcome, b.tag, b.Portal, b.Name = requests.NewOutcome(), effect.Tag, effect.Portal, effect.Name
		bindings = append(bindings, &b)
		t := n.table(b.Portal)
		if e := t.of[b.Name]; b.Name != "" && e != nil && e.matters() {
			t.change(b.Name, func(e *name) { e.add(&b) })
		}
	}
	return bindings
}

// Matter reports whether prelude statements may depend on any name.
func (n *Table) Matter() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.statements.matter+n.portals.matter > 0
}

// RebindAny is called when a statement is sent that was not read and may bind any name, but for the
// unnamed ones, which SQL does not reach.
func (n *Table) RebindAny() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, portal := range []bool{false, true} {
		t := n.table(portal)
		for key, e := range t.of {
			if key == "" || !e.matters() {
				continue
			}
			t.change(key, func(e *name) {
				b := &Binding{Outcome: requests.NewOutcome(), Portal: portal, Name: key, Unknown: true}
				b.Settle(requests.Done)
				e.outstanding, e.kept = nil, 0
				e.bound = b
			})
		}
	}
}

// Bounds of the statements and portals of a session that prelude statements may depend on.
const (
	MaxStatements     = 1024      // named ones
	MaxStatementsSize = 512 << 10 // bytes of their texts
	// MaxPreludes is how many portals with a prelude statement a session may have open, as far as the proxy knows.
	MaxPreludes = 512
	// maxAgain bounds what a session keeps of Binds to be sent again, in bytes.
	maxAgain = wire.MaxText
)

// RoomForStatement reports whether there is room for a named statement that is prepared from text.
func (n *Table) RoomForStatement(key string, from *Text) bool {
	b := Binding{Name: key, Text: from}
	if key == "" || !b.matters() {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	others, size := n.statements.others(key)
	return others < MaxStatements && (from.BindTime() == nil || size+b.size() <= MaxStatementsSize)
}

// RoomForPrelude reports whether there is room for the binding of a portal with a prelude statement.
func (n *Table) RoomForPrelude(b *Binding) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	others, size := n.portals.others(b.Name)
	return others < MaxPreludes && (len(b.Again) == 0 || size+len(b.Again) <= maxAgain)
}

// others counts the names but key that matter, and the bytes of their bindings.
func (t *nameTable) others(key string) (n, size int) {
	n, size = t.matter, t.kept
	if e := t.of[key]; e != nil && e.matters() {
		n, size = n-1, size-e.kept
	}
	return n, size
}
