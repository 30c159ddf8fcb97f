package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/bench/internal/rig"
)

const (
	pooledCalls   = 10_000
	pooledServers = 20
	pooledSettle  = time.Minute // by then all wait
	pooledSamples = 100
)

// pooledResult is what calls cost that wait with few connections to the server between them.
type pooledResult struct {
	calls       int // as many as the process may have descriptors for, two each
	residentKiB int64
	times       []time.Duration // from the commit of a post to the row
}

// pooledWaits has very many calls wait at a proxy before pgbouncer.
func (b *bench) pooledWaits(ctx context.Context, dir string, r *pooledResult) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("reading the limit of descriptors: %w", err)
	}
	r.calls = int(min(pooledCalls, (limit.Max-500)/2)) //nolint:gosec // at most pooledCalls
	pooled, err := b.stack.PooledProxy(ctx, b.tools, dir, r.calls+100, pooledServers)
	if err != nil {
		return err
	}
	c, err := connectCrew(ctx, pooled, r.calls)
	if err != nil {
		return err
	}
	defer c.stop()
	c.start(ctx, func(i int) string { return fmt.Sprint("w", i%manyWaiting) })
	if err := rig.Rest(ctx, pooledSettle); err != nil {
		return err
	}
	if r.residentKiB, err = rig.ResidentKiB(pooled.PID); err != nil {
		return err
	}
	poster, err := pgconn.Connect(ctx, pooled.DSN())
	if err != nil {
		return fmt.Errorf("posting: %w", err)
	}
	defer rig.CloseConn(poster)
	for i := range pooledSamples {
		before := c.got.Load()
		if _, err := rig.Query(ctx, poster, fmt.Sprintf("select mbus4.post('w%d', 'a=>1')", i)); err != nil {
			return err
		}
		posted := time.Now()
		for c.got.Load() == before {
			if time.Since(posted) > time.Minute {
				return fmt.Errorf("INVALID: nobody has got message %d", i)
			}
			if err := rig.Rest(ctx, 100*time.Microsecond); err != nil {
				return err
			}
		}
		r.times = append(r.times, time.Since(posted))
	}
	return nil
}
