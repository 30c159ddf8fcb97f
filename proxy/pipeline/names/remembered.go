package names

import "mbusproxy/proxy/memory"

const (
	// rememberedSize is what a name costs beside its texts.
	rememberedSize = 256
	// rememberedFree is how many bytes of texts a session remembers, for statements and for portals each,
	// without a share of the budget.
	rememberedFree = 64 << 10
	// RememberTotal is the budget of a Server.
	RememberTotal = 32 << 20
)

// textMemory counts the memory of remembered texts. What goes beyond rememberedFree is taken from a budget of all
// sessions.
type textMemory struct {
	budget *memory.Budget
	size   int  // of all texts
	taken  int  // from budget
	lost   bool // a text was not remembered for want of memory, and its name may be in use
}

// take takes memory for a text; false means that there is none.
func (m *textMemory) take(size int) bool {
	if short := m.size + size - rememberedFree - m.taken; short > 0 {
		// Some at a time, for all sessions share one lock.
		if short = max(short, rememberedFree/4); !m.budget.Take(short) {
			m.lost = true
			return false
		}
		m.taken += short
	}
	m.size += size
	return true
}

// give gives back what a text took.
func (m *textMemory) give(size int) {
	m.size -= size
	if over := m.taken - max(0, m.size-rememberedFree); over > rememberedFree || m.size <= rememberedFree {
		m.budget.Give(over)
		m.taken -= over
	}
}
