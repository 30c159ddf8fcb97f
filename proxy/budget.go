package proxy

import "sync"

// budget is memory that all sessions of a Server share. Nobody waits for it: who gets none does without.
// A nil budget has no end.
type budget struct {
	mu   sync.Mutex
	free int // bytes
}

func newBudget(size int) *budget { return &budget{free: size} }

// take takes n bytes, or none; then it returns false.
func (b *budget) take(n int) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.free {
		return false
	}
	b.free -= n
	return true
}

// give gives n bytes back.
func (b *budget) give(n int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.free += n
	b.mu.Unlock()
}
