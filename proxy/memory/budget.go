package memory

import "sync"

// Budget is memory that all sessions of a Server share. Nobody waits for it: who gets none does without.
// A nil budget has no end.
type Budget struct {
	mu   sync.Mutex
	size int // bytes
	free int // of them
}

// NewBudget has size bytes.
func NewBudget(size int) *Budget { return &Budget{size: size, free: size} }

// Used is how many bytes have been taken. Of a nil budget none are.
func (b *Budget) Used() int {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size - b.free
}

// Size is how many bytes there are in all.
func (b *Budget) Size() int {
	if b == nil {
		return 0
	}
	return b.size
}

// Take takes n bytes, or none; then it returns false.
func (b *Budget) Take(n int) bool {
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

// Give gives n bytes back.
func (b *Budget) Give(n int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.free += n
	b.mu.Unlock()
}
