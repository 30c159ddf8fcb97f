package proxy

import "strings"

// names knows which of the session's prepared statements and portals were made from a Plan. It
// stores nothing in a session that never had one. It belongs to the direction server -> client,
// for only the server's replies say what exists.
type names struct {
	statements map[string]Plan
	portals    map[string]Plan
	// deallocated are names that DEALLOCATE statements parsed so far drop when executed.
	deallocated []string
	living      living
}

// maxDeallocated bounds names.deallocated.
const maxDeallocated = 256

// inUse reports whether any name has a plan.
func (n *names) inUse() bool {
	return len(n.statements) > 0 || len(n.portals) > 0 || len(n.living.statements) > 0
}

// planOf returns the plan of the message that h stands for, or nil.
func (n *names) planOf(h *owed) Plan {
	if h == nil || h.about == nil {
		return nil
	}
	if h.about.plan != nil {
		return h.about.plan
	}
	switch h.kind {
	case owedBind:
		return n.statements[h.about.statement]
	case owedExecute:
		return n.portals[h.about.portal]
	case owedDescribe:
		if h.about.ofPortal {
			return n.portals[h.about.portal]
		}
		return n.statements[h.about.statement]
	default:
		return nil
	}
}

// parsed is called at ParseComplete: the name now means this text.
func (n *names) parsed(a *about) {
	if a == nil {
		// Sent before the session's first Plan; a name it replaces has none. Or malformed.
		return
	}
	if len(n.deallocated)+len(a.deallocated) <= maxDeallocated {
		n.deallocated = append(n.deallocated, a.deallocated...)
	}
	if a.plan == nil {
		delete(n.statements, a.statement)
		return
	}
	if n.statements == nil {
		n.statements = make(map[string]Plan)
	}
	n.statements[a.statement] = a.plan
}

// bound is called at BindComplete: the portal takes the plan of its statement.
func (n *names) bound(a *about) {
	if a == nil {
		return
	}
	plan := n.statements[a.statement]
	if plan == nil {
		delete(n.portals, a.portal)
		return
	}
	if n.portals == nil {
		n.portals = make(map[string]Plan)
	}
	n.portals[a.portal] = plan
}

// closed is called at CloseComplete.
func (n *names) closed(a *about) {
	switch {
	case a == nil:
	case a.ofPortal:
		delete(n.portals, a.portal)
	default:
		delete(n.statements, a.statement)
	}
}

// completed is called at CommandComplete with its tag.
func (n *names) completed(a *about, tag string) {
	if !n.inUse() {
		return
	}
	switch tag {
	case "DISCARD ALL":
		n.deallocatedAll()
		clear(n.portals)
	case "DEALLOCATE ALL":
		n.deallocatedAll()
	case "DEALLOCATE":
		// All names of the text go at the first tag: a plan dropped too early costs the mapping
		// of a position, one kept too long would map that of another statement.
		for _, name := range n.deallocated {
			delete(n.statements, name)
		}
		if a != nil {
			for _, name := range a.deallocated {
				delete(n.statements, name)
			}
		}
	}
}

// deallocatedAll drops all statements but the unnamed one, which the server keeps elsewhere.
func (n *names) deallocatedAll() {
	unnamed, planned := n.statements[""]
	clear(n.statements)
	if planned {
		n.statements[""] = unnamed
	}
	n.living.end(false)
}

// failed is called at the ErrorResponse that answers h.
func (n *names) failed(h *owed) {
	// The server drops the unnamed statement before it parses the new one; a named one stays,
	// for a Parse of an existing name is an error.
	if h.kind == owedParse && h.about != nil && h.about.statement == "" {
		delete(n.statements, "")
	}
}

// ready is called at the ReadyForQuery that ends the reply to a message of the given kind.
func (n *names) ready(kind replyKind, status byte) {
	if kind == owedQuery { // a simple Query drops the unnamed statement and portal
		delete(n.statements, "")
		delete(n.portals, "")
	}
	if status == 'I' { // no portal of the extended protocol outlives its transaction
		clear(n.portals)
		n.living.end(true)
	}
}

// deallocatedNames returns the names that follow the word DEALLOCATE in text. It reads no SQL: a
// name found in a comment costs at most the mapping of a position.
func deallocatedNames(text string) []string {
	const word = "deallocate"
	var found []string
	lower := asciiLower(text)
	for at := strings.Index(lower, word); at >= 0; {
		rest := skipSpace(text[at+len(word):])
		if len(rest) > 8 && asciiLower(rest[:7]) == "prepare" && isSpace(rest[7]) {
			rest = skipSpace(rest[7:])
		}
		if name := leadingIdentifier(rest); name != "" {
			found = append(found, name)
		}
		next := strings.Index(lower[at+1:], word)
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return found
}

// leadingIdentifier reads a plain or quoted identifier at the head of s as Postgres folds it.
func leadingIdentifier(s string) string {
	if strings.HasPrefix(s, `"`) {
		name, _, _ := quotedName(s)
		return name
	}
	end := 0
	for end < len(s) && !isSpace(s[end]) && s[end] != ';' && s[end] != '-' && s[end] != '/' {
		end++
	}
	return asciiLower(s[:end])
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}

func skipSpace(s string) string { return strings.TrimLeft(s, " \t\n\r\f\v") }

// asciiLower folds A-Z only, so offsets stay those of s.
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
