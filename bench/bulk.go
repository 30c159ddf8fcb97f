package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/bench/internal/rig"
)

// bulkQueries give much for one request. pgbench cannot run COPY, and libpq takes longer to read
// many rows than they take to come, so these have a client of their own, which only reads.
var bulkQueries = []struct{ name, about, sql string }{
	{"copy", "COPY out of 20,000 accounts, 2 MB", "copy (select * from pgbench_accounts limit 20000) to stdout"},
	{"rows", "10,000 rows of one number", "select generate_series(1, 10000)"},
}

var bulkClients = []int{1, 8}

func bulkName(what string, clients int) string { return fmt.Sprintf("bulk/%s/%d", what, clients) }

// bulkWarmUp is shorter than warmUp: here a query is long, and there is no plan to make.
const bulkWarmUp = 200 * time.Millisecond

// bulk has clients run a query again and again.
func (b *bench) bulk(ctx context.Context, p rig.Path, sql string, clients int) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(b.opt.seconds)*time.Second+time.Minute)
	defer cancel()
	return timed(p, func() (sample, error) {
		var s sample
		var wg sync.WaitGroup
		var mu sync.Mutex
		var errs []error
		for range clients {
			wg.Go(func() {
				n, tps, err := repeat(ctx, p, sql, time.Duration(b.opt.seconds)*time.Second)
				mu.Lock()
				defer mu.Unlock()
				s.count += n
				s.tps += tps
				errs = append(errs, err)
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return s, fmt.Errorf("reading through %s: %w", p.Name, err)
		}
		return s, nil
	})
}

// repeat runs a query for some time, after bulkWarmUp. The number is that of all runs.
func repeat(ctx context.Context, p rig.Path, sql string, d time.Duration) (n int64, tps float64, err error) {
	h, err := rig.Hijack(ctx, p.DSN())
	if err != nil {
		return 0, 0, fmt.Errorf("connecting: %w", err)
	}
	defer func() { _ = h.Conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := h.Conn.SetDeadline(deadline); err != nil {
			return 0, 0, err
		}
	}
	question, err := (&pgproto3.Query{String: sql}).Encode(nil)
	if err != nil {
		return 0, 0, err
	}
	buf := make([]byte, 1<<16)
	began := time.Now().Add(bulkWarmUp)
	counted := 0
	for {
		if err := ask(h.Conn, question, buf); err != nil {
			return n, 0, err
		}
		n++
		now := time.Now()
		switch {
		case now.Before(began):
		case counted == 0: // what began before does not count
			began, counted = now, 1
		case now.Sub(began) >= d:
			return n, float64(counted) / now.Sub(began).Seconds(), nil
		default:
			counted++
		}
	}
}

var readyForQuery = []byte{'Z', 0, 0, 0, 5, 'I'}

// ask reads the whole reply. The data of bulkQueries cannot look like its end.
func ask(conn net.Conn, question, buf []byte) error {
	if _, err := conn.Write(question); err != nil {
		return err
	}
	kept := 0 // of the end of what came before
	first := true
	for {
		n, err := conn.Read(buf[kept:])
		if err != nil {
			return err
		}
		n += kept
		if first && n > 0 && buf[0] == 'E' {
			return fmt.Errorf("the server says %q", buf[:min(n, 200)])
		}
		first = false
		if bytes.HasSuffix(buf[:n], readyForQuery) {
			return nil
		}
		kept = copy(buf, buf[max(0, n-len(readyForQuery)+1):n])
	}
}
