package service

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Bell ends a wait from outside. A ring that nobody waits for ends the next wait. One waits at a time; anybody rings.
type Bell struct {
	mu   sync.Mutex
	rung bool
	stop context.CancelFunc // of the wait under way
}

// Ring ends the wait under way, or the next one.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rung = true
	if b.stop != nil {
		b.stop()
	}
}

// begin gives the context of a wait, which end must follow.
func (b *Bell) begin(ctx context.Context, d time.Duration) context.Context {
	wait, cancel := context.WithTimeout(ctx, d)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stop = cancel
	if b.rung {
		cancel()
	}
	return wait
}

func (b *Bell) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stop()
	b.rung, b.stop = false, nil
}

// Wait lets d pass, or less when the bell rings.
func (b *Bell) Wait(ctx context.Context, d time.Duration) {
	wait := b.begin(ctx, d)
	defer b.end()
	<-wait.Done()
}

// Listen does so on an open connection, where a notification ends it as well, which told says. It
// notices at once when the server ends the connection, which is an error, as the end of ctx is.
func (b *Bell) Listen(ctx context.Context, conn *pgx.Conn, d time.Duration) (told bool, err error) {
	wait := b.begin(ctx, d)
	defer b.end()
	if wait.Err() != nil {
		return false, ctx.Err()
	}
	switch _, err := conn.WaitForNotification(wait); {
	case err == nil:
		return true, ctx.Err()
	case wait.Err() == nil || conn.IsClosed():
		return false, err
	}
	return false, ctx.Err()
}
