package pipeline

import (
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// This file is what the direction client to server does with the table of names.

// look is name.look for the name.
func (n *names) look(portal bool, key string, segment uint64) (b *binding, wait *requests.Outcome, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e := n.table(portal).of[key]; e != nil {
		return e.look(segment)
	}
	return nil, nil, nil
}

// note adds a binding that is about to be sent, and returns it; nil where it makes no difference.
func (n *names) note(b *binding) []*binding {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.table(b.portal)
	if e := t.of[b.name]; !b.matters() && (e == nil || !e.matters()) {
		return nil
	}
	n.used.Store(true)
	b.Outcome = requests.NewOutcome()
	t.change(b.name, func(e *name) { e.add(b) })
	return []*binding{b}
}

// noteEffects adds the bindings that the statements of a text bring about; like has what is the same for all. It returns
// those that make no difference to prelude statements, too: only the order of the server's command tags tells them apart.
func (n *names) noteEffects(effects []statements.Effect, like binding) (bindings []*binding) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, effect := range effects {
		b := like
		b.Outcome, b.tag, b.portal, b.name = requests.NewOutcome(), effect.Tag, effect.Portal, effect.Name
		bindings = append(bindings, &b)
		t := n.table(b.portal)
		if e := t.of[b.name]; b.name != "" && e != nil && e.matters() {
			t.change(b.name, func(e *name) { e.add(&b) })
		}
	}
	return bindings
}

// matter reports whether prelude statements may depend on any name.
func (n *names) matter() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.statements.matter+n.portals.matter > 0
}

// rebindAny is called when a statement is sent that was not read and may bind any name, but for the unnamed ones, which SQL
// does not reach.
func (n *names) rebindAny() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, portal := range []bool{false, true} {
		t := n.table(portal)
		for key, e := range t.of {
			if key == "" || !e.matters() {
				continue
			}
			t.change(key, func(e *name) {
				b := &binding{Outcome: requests.NewOutcome(), portal: portal, name: key, unknown: true}
				b.Settle(requests.Done)
				e.outstanding, e.kept = nil, 0
				e.bound = b
			})
		}
	}
}

// Bounds of the statements and portals of a session that prelude statements may depend on.
const (
	maxStatements     = 1024      // named ones
	maxStatementsSize = 512 << 10 // bytes of their texts
	// MaxPreludes is how many portals with a prelude statement a session may have open, as far as the proxy knows.
	MaxPreludes = 512
	// maxAgain bounds what a session keeps of Binds to be sent again, in bytes.
	maxAgain = wire.MaxText
)

// roomForStatement reports whether there is room for a named statement that is prepared from text.
func (n *names) roomForStatement(key string, from *text) bool {
	b := binding{name: key, text: from}
	if key == "" || !b.matters() {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	others, size := n.statements.others(key)
	return others < maxStatements && (from.bindTime() == nil || size+b.size() <= maxStatementsSize)
}

// roomForPrelude reports whether there is room for the binding of a portal with a prelude statement.
func (n *names) roomForPrelude(b *binding) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	others, size := n.portals.others(b.name)
	return others < MaxPreludes && (len(b.again) == 0 || size+len(b.again) <= maxAgain)
}

// others counts the names but key that matter, and the bytes of their bindings.
func (t *nameTable) others(key string) (n, size int) {
	n, size = t.matter, t.kept
	if e := t.of[key]; e != nil && e.matters() {
		n, size = n-1, size-e.kept
	}
	return n, size
}
