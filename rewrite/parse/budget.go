package parse

import (
	"container/list"
	"context"
	"sync"
)

// budget is what all texts under way share: slots, one for each thread, and tokens of long texts. A
// session has one text under way at most, so the order of coming is fair to sessions.
type budget struct {
	mu     sync.Mutex
	slots  int // free
	long   int // how many of those under way may be long ones
	tokens int // free, for long texts
	// short and long texts that wait, of *waiter, in the order of coming.
	shortQueue, longQueue list.List
}

// waiter is a text that waits for its turn.
type waiter struct {
	tokens int
	turn   chan struct{} // closed when it has got what it needs
}

// newBudget returns a budget with slots, one of which is for short texts only.
func newBudget(slots, tokens int) *budget {
	return &budget{slots: slots, long: max(1, slots-1), tokens: tokens}
}

// take waits for the turn of a text; it returns an error only where the context has ended.
func (b *budget) take(ctx context.Context, tokens int) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	w := &waiter{tokens, make(chan struct{})}
	b.mu.Lock()
	queue := &b.shortQueue
	if tokens > ShortTokens {
		queue = &b.longQueue
	}
	at := queue.PushBack(w)
	b.serve()
	b.mu.Unlock()
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-w.turn:
		b.free(tokens) // both came at once
	default:
		queue.Remove(at)
		b.serve() // the one behind may be smaller
	}
	return context.Cause(ctx)
}

// give gives back what a text of so many tokens took.
func (b *budget) give(tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free(tokens)
}

// free does what give does. mu is held.
func (b *budget) free(tokens int) {
	b.slots++
	if tokens > ShortTokens {
		b.long++
		b.tokens += tokens
	}
	b.serve()
}

// serve lets go those whose turn it is. mu is held.
func (b *budget) serve() {
	for b.slots > 0 {
		next := b.shortQueue.Front()
		queue := &b.shortQueue
		if next == nil {
			next, queue = b.longQueue.Front(), &b.longQueue
			if next == nil || b.long == 0 || next.Value.(*waiter).tokens > b.tokens {
				return
			}
			b.long--
			b.tokens -= next.Value.(*waiter).tokens
		}
		b.slots--
		close(queue.Remove(next).(*waiter).turn)
	}
}
