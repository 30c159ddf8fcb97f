package pipeline

// names knows which of the session's prepared statements and portals were made from a Plan. It
// stores nothing in a session that never had one. It belongs to the direction server -> client,
// for only the server's replies say what exists.
type names struct {
	statements made
	portals    made
	living     living
}

// inUse reports whether any name has a plan.
func (n *names) inUse() bool {
	return n.statements.inUse() || n.portals.inUse() || len(n.living.statements) > 0
}

// planOf returns the plan of the message that h stands for, or nil. forgotten: it may have had one.
func (n *names) planOf(h *owed) (plan Plan, forgotten bool) {
	if h == nil || h.about == nil {
		return nil, false
	}
	if h.about.plan != nil {
		return h.about.plan, false
	}
	switch {
	case h.kind == owedBind:
		return n.statements.planOf(h.about.statement)
	case h.kind == owedExecute, h.kind == owedDescribe && h.about.ofPortal:
		return n.portals.planOf(h.about.portal)
	case h.kind == owedDescribe:
		return n.statements.planOf(h.about.statement)
	default:
		return nil, false
	}
}

// parsed is called at ParseComplete: the name now means this text.
func (n *names) parsed(a *about) {
	if a == nil {
		// Sent before the session's first Plan; a name it replaces has none. Or malformed.
		return
	}
	n.statements.put(a.statement, text{plan: a.plan, drops: a.drops})
}

// bound is called at BindComplete: the portal takes the plan of its statement.
func (n *names) bound(a *about) {
	if a == nil {
		return
	}
	n.portals.put(a.portal, n.statements.of[a.statement])
	n.portals.lost = n.portals.lost || n.statements.lost
}

// closed is called at CloseComplete.
func (n *names) closed(a *about) {
	switch {
	case a == nil:
	case a.ofPortal:
		n.portals.remove(a.portal)
	default:
		n.statements.remove(a.statement)
	}
}

// completed is called at CommandComplete with its tag.
func (n *names) completed(h *owed, tag string) {
	if !n.inUse() || h.about == nil {
		return
	}
	switch tag {
	case "DISCARD ALL":
		n.deallocatedAll()
		n.portals.clear()
	case "DEALLOCATE ALL":
		n.deallocatedAll()
	case "DEALLOCATE":
		// All names of the text go at the first tag: a plan dropped too early costs the mapping
		// of a position, one kept too long would map that of another statement.
		drops := h.about.drops
		if h.kind == owedExecute {
			drops = n.portals.of[h.about.portal].drops
			drops.all = drops.all || n.portals.lost
		}
		if drops.all {
			n.deallocatedAll()
		}
		for _, name := range drops.names {
			n.statements.remove(name)
		}
	}
}

// deallocatedAll drops all statements but the unnamed one, which the server keeps elsewhere.
func (n *names) deallocatedAll() {
	unnamed := n.statements.of[""]
	n.statements.clear()
	n.statements.put("", unnamed)
	n.living.end(false)
}

// failed is called at the ErrorResponse that answers h.
func (n *names) failed(h *owed) {
	// The server drops the unnamed statement before it parses the new one; a named one stays,
	// for a Parse of an existing name is an error.
	if h.kind == owedParse && h.about != nil && h.about.statement == "" {
		n.statements.remove("")
	}
}

// ready is called at the ReadyForQuery that ends the reply to a message of the given kind.
func (n *names) ready(kind replyKind, status byte) {
	if kind == owedQuery { // a simple Query drops the unnamed statement and portal
		n.statements.remove("")
		n.portals.remove("")
	}
	if status == 'I' { // no portal of the extended protocol outlives its transaction
		n.portals.clear()
		n.living.end(true)
	}
}
