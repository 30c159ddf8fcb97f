package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"mbusproxy/bench/internal/rig"
)

// Arms of queues.
const (
	handName    = "hand-written"            // directly
	bouncerName = "hand-written, pgbouncer" // the same through pgbouncer
	proxyName   = "proxy"
	plainName   = "proxy, plain" // the plain workload through the proxy
)

// side is one way to a queue: calls through the proxy, or a table and statements written by hand.
type side struct {
	words
	name string
	path rig.Path
}

func (b *bench) ours(w *workload) side {
	return side{name: proxyName, path: b.stack.Proxy.To(w.ours.database), words: w.ours}
}

func (b *bench) hand(w *workload, p rig.Path) side {
	name := handName
	if p.PID != 0 {
		name = bouncerName
	}
	return side{name: name, path: p.To(w.hand.database), words: w.hand}
}

// sides are those that are compared for a workload; its own is called proxy. What plain has been
// compared with by hand directly, or what nothing would change by hand, is left out.
func (b *bench) sides(w *workload) []side {
	ours, bouncer := b.ours(w), b.hand(w, b.stack.Bouncer)
	base := b.ours(plain)
	base.name = plainName
	switch w {
	case headers, named:
		return []side{bouncer, base, ours}
	case busy:
		return []side{base, ours}
	}
	return []side{b.hand(w, b.stack.Direct), bouncer, ours}
}

// direct is the way to the side's database around what is in the middle.
func (b *bench) direct(s side) string { return b.stack.Direct.To(s.database).DSN() }

// refill leaves exactly n messages in a table without dead rows.
func (b *bench) refill(ctx context.Context, s side, n int64) error {
	if _, err := rig.Exec(ctx, b.direct(s), "truncate "+s.table); err != nil {
		return err
	}
	if s.residents != "" {
		if _, err := rig.Exec(ctx, s.path.DSN(), s.residents); err != nil {
			return fmt.Errorf("filling: %w", err)
		}
	}
	if err := b.add(ctx, s, n); err != nil {
		return err
	}
	// A Query message of its own: VACUUM cannot run in the implicit transaction of several statements.
	if _, err := rig.Exec(ctx, b.direct(s), "vacuum (analyze) "+s.table); err != nil {
		return err
	}
	return b.expect(ctx, s, n)
}

// add posts n messages, by two clients where they may come in any order.
func (b *bench) add(ctx context.Context, s side, n int64) error {
	clients := int64(2)
	if s.inOrder {
		clients = 1
	}
	errs := make([]error, clients)
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for from := 1 + client*s.chunk; from <= n && errs[client] == nil; from += clients * s.chunk {
				_, errs[client] = rig.Exec(ctx, s.path.DSN(), s.fill(from, min(from+s.chunk-1, n)))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("filling: %w", err)
	}
	return nil
}

// expect checks how many messages there are.
func (b *bench) expect(ctx context.Context, s side, n int64) error {
	left, err := b.left(ctx, s)
	if err != nil {
		return err
	}
	if left != n {
		return fmt.Errorf("INVALID: %d messages in %s where %d are due", left, s.table, n)
	}
	if s.copies == 0 {
		return nil
	}
	rows, err := rig.Count(ctx, b.direct(s), "select count(*) from "+s.table)
	if err == nil && rows != n*s.copies {
		err = fmt.Errorf("INVALID: %d rows in %s where %d are due", rows, s.table, n*s.copies)
	}
	return err
}

func (b *bench) left(ctx context.Context, s side) (int64, error) {
	return rig.Count(ctx, b.direct(s), s.held)
}
