package parse

import (
	"context"
	"errors"
	"testing"
)

// waiting returns how many wait.
func (b *budget) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shortQueue.Len() + b.longQueue.Len()
}

// begin takes in the background, and returns when it has its turn or waits for it.
func begin(t *testing.T, ctx context.Context, b *budget, tokens int) <-chan error {
	t.Helper()
	before := b.waiting()
	out := make(chan error, 1)
	go func() { out <- b.take(ctx, tokens) }()
	for len(out) == 0 && b.waiting() == before {
		if t.Context().Err() != nil {
			t.Fatal("neither a turn nor a wait")
		}
	}
	return out
}

func TestBudget(t *testing.T) {
	ctx := t.Context()
	b := newBudget(2, 10000)
	if err := b.take(ctx, 8000); err != nil {
		t.Fatal(err)
	}
	first, second := begin(t, ctx, b, 9000), begin(t, ctx, b, 3000)
	for range 10 { // short texts pass long ones
		if err := b.take(ctx, 10); err != nil {
			t.Fatal(err)
		}
		b.give(10)
	}
	if len(first)+len(second) > 0 {
		t.Fatal("a second long text has its turn beside the first")
	}
	b.give(8000)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if len(second) > 0 {
		t.Fatal("two long ones at once")
	}
	// With a slot taken by a short text, another short one waits, and comes before the long one.
	if err := b.take(ctx, 1); err != nil {
		t.Fatal(err)
	}
	third := begin(t, ctx, b, 1)
	b.give(9000)
	if err := <-third; err != nil {
		t.Fatal(err)
	}
	if len(second) > 0 {
		t.Fatal("the long one came first")
	}
	b.give(1)
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	b.give(3000)
	b.give(1)
	if b.slots != 2 || b.long != 1 || b.tokens != 10000 || b.waiting() != 0 {
		t.Errorf("not all came back: %+v", b)
	}
}

// The wait ends with the context, and whoever is behind has the turn.
func TestBudgetEnds(t *testing.T) {
	b := newBudget(2, 10000)
	if err := b.take(t.Context(), 5000); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("canceled")
	ctx, cancel := context.WithCancelCause(t.Context())
	first, second := begin(t, ctx, b, 10000), begin(t, t.Context(), b, 5000)
	cancel(gone)
	if err := <-first; !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	b.give(5000)
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	b.give(5000)
	if err := b.take(ctx, 1); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	if b.slots != 2 || b.long != 1 || b.tokens != 10000 || b.waiting() != 0 {
		t.Errorf("not all came back: %+v", b)
	}
}
