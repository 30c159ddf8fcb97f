package pipeline

import (
	"mbusproxy/proxy/memory"
)

// text is what is remembered of the text that a statement or portal was made from.
type text struct {
	plan  Plan // nil: there is none
	drops drops
}

func (t *text) matters() bool { return t.plan != nil || t.drops.all || len(t.drops.names) > 0 }

// size is about how much memory t keeps.
func (t *text) size() int {
	size := rememberedSize
	if t.plan != nil {
		size += len(t.plan.SQL())
	}
	for _, name := range t.drops.names {
		size += len(name)
	}
	return size
}

const (
	// rememberedSize is what a name costs beside its texts.
	rememberedSize = 256
	// rememberedFree is how many bytes of texts a session remembers, for statements and for portals each,
	// without a share of the budget.
	rememberedFree = 64 << 10
	// RememberTotal is the budget of a Server.
	RememberTotal = 32 << 20
)

// made are the texts that matter of the session's statements, or of its portals, by name. What it keeps
// beyond rememberedFree is taken from a budget of all sessions. Where there is none it forgets, which costs
// the places in reports about the statement.
type made struct {
	of     map[string]text
	budget *memory.Budget
	size   int  // of all texts
	taken  int  // from budget
	lost   bool // a text was forgotten, and its name may be in use
}

func (m *made) inUse() bool { return len(m.of) > 0 || m.lost }

// planOf returns the plan of a name, or nil. forgotten: it may have had one.
func (m *made) planOf(name string) (plan Plan, forgotten bool) {
	t, known := m.of[name]
	return t.plan, m.lost && !known
}

// put notes that name stands for t from now on.
func (m *made) put(name string, t text) {
	m.remove(name)
	if !t.matters() {
		return
	}
	size := t.size()
	if short := m.size + size - rememberedFree - m.taken; short > 0 {
		// A step at a time, for all sessions share one lock.
		if short = max(short, rememberedFree/4); !m.budget.Take(short) {
			m.lost = true
			return
		}
		m.taken += short
	}
	if m.of == nil {
		m.of = make(map[string]text)
	}
	m.of[name] = t
	m.size += size
}

func (m *made) remove(name string) {
	if t, known := m.of[name]; known {
		delete(m.of, name)
		m.size -= t.size()
		m.shrink()
	}
}

// clear is called when no name is left.
func (m *made) clear() {
	clear(m.of)
	m.size, m.lost = 0, false
	m.shrink()
}

// shrink gives back what is not needed any more.
func (m *made) shrink() {
	if over := m.taken - max(0, m.size-rememberedFree); over > rememberedFree || m.size <= rememberedFree {
		m.budget.Give(over)
		m.taken -= over
	}
}

// release gives all back at the end of the session.
func (m *made) release() {
	m.of = nil
	m.clear()
}
