package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/bench/internal/rig"
)

const (
	idleMemoryName = "idle/memory"
	idleCPUName    = "idle/cpu"
	idleSessions   = 1000
	settleTime     = 5 * time.Second // before the memory is read: what the garbage collector has not freed by then counts
	cpuWindow      = 10 * time.Second
)

// idleResult is what sessions that do nothing cost.
type idleResult struct {
	before  int64 // KiB of the proxy without sessions
	fresh   int64 // with all of them, that have done nothing yet
	used    int64 // after each of them had a reply of 100 kB
	cpuNone time.Duration
	cpuAll  time.Duration
	cpu     bool // the CPU was measured
	err     error
}

// perSession is the memory of one session, in KiB, at the worse of the two moments.
func (r *idleResult) perSession() float64 {
	return float64(max(r.fresh, r.used)-r.before) / idleSessions
}

// idle opens sessions through a proxy of its own, to a Postgres whose max_connections allows them.
func (b *bench) idle(ctx context.Context, dir string, r *report) (err error) {
	if !b.wanted(idleMemoryName) && !b.wanted(idleCPUName) {
		return nil
	}
	fmt.Fprintf(b.say, "%-28s", "idle")
	defer fmt.Fprintln(b.say)
	b.stack, err = rig.Start(ctx, b.tools, rig.Options{Dir: filepath.Join(dir, "idle"), Databases: databases, Connections: idleSessions + 50})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stack.Stop()) }()
	r.idle = b.measureIdle(ctx)
	if r.idle.err != nil {
		fmt.Fprintf(b.say, " FAILED: %v", r.idle.err)
		return ctx.Err()
	}
	fmt.Fprintf(b.say, "  %.1f KiB a session, CPU %v in %v", r.idle.perSession(), r.idle.cpuAll, cpuWindow)
	return nil
}

func (b *bench) measureIdle(ctx context.Context) *idleResult {
	r := &idleResult{cpu: b.wanted(idleCPUName)}
	p := b.stack.Proxy
	// The first sessions pay for what is made once.
	if _, err := rig.Exec(ctx, p.DSN(), "select 1"); err != nil {
		return &idleResult{err: err}
	}
	var conns []*pgconn.PgConn
	defer func() {
		for _, c := range conns {
			rig.CloseConn(c)
		}
	}()
	steps := []func() error{
		func() error { return b.settle(ctx, &r.before) },
		func() error { return b.cpuOf(ctx, r.cpu, &r.cpuNone) },
		func() error {
			for range idleSessions {
				c, err := pgconn.Connect(ctx, p.DSN())
				if err != nil {
					return fmt.Errorf("opening session %d: %w", len(conns)+1, err)
				}
				conns = append(conns, c)
			}
			return b.settle(ctx, &r.fresh)
		},
		func() error { return b.cpuOf(ctx, r.cpu, &r.cpuAll) },
		func() error {
			for _, c := range conns {
				if _, err := rig.Query(ctx, c, "select repeat('x', 100000)"); err != nil {
					return err
				}
			}
			return b.settle(ctx, &r.used)
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			r.err = err
			return r
		}
	}
	return r
}

// settle reads the proxy's memory after settleTime.
func (b *bench) settle(ctx context.Context, kib *int64) error {
	if err := rig.Rest(ctx, settleTime); err != nil {
		return err
	}
	var err error
	*kib, err = rig.ResidentKiB(b.stack.Proxy.PID)
	return err
}

// cpuOf measures the CPU time that the proxy uses in cpuWindow.
func (b *bench) cpuOf(ctx context.Context, wanted bool, used *time.Duration) error {
	if !wanted {
		return nil
	}
	before, err := rig.CPUTime(b.stack.Proxy.PID)
	if err != nil {
		return err
	}
	if err := rig.Rest(ctx, cpuWindow); err != nil {
		return err
	}
	after, err := rig.CPUTime(b.stack.Proxy.PID)
	*used = after - before
	return err
}
