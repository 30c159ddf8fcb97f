package main

import (
	"context"
	"fmt"

	"mbusproxy/bench/internal/rig"
)

const (
	snapshotName    = "snapshot/consume/prepared/8"
	deadRows        = 400000
	snapshotClients = 8
	leastRate       = 5000 // messages a second to fill for at least: the clean run may be the slow one
	snapshotParts   = 3    // each as long as an arm of another cell
)

// snapshotResult tells how consuming fares when an old snapshot keeps the dead rows alive.
type snapshotResult struct {
	clean []float64            // transactions a second through the proxy, one for each round
	held  map[string][]float64 // by side and part: the same behind dead rows
	ratio map[string][]float64 // by side and part: to its own side's clean table
	err   error
}

func partKey(side string, part int) string { return fmt.Sprintf("%s/%d", side, part) }

// snapshot consumes one at a time from a clean table, then behind deadRows dead rows that a
// transaction keeps from being vacuumed; by the proxy and by hand.
func (b *bench) snapshot(ctx context.Context) *snapshotResult {
	r := &snapshotResult{held: map[string][]float64{}, ratio: map[string][]float64{}}
	fmt.Fprintf(b.say, "%-28s", snapshotName)
	defer fmt.Fprintln(b.say)
	ours, hand := b.ours(plain), b.hand(plain, b.stack.Direct)
	arms := []*consumer{
		{side: hand, script: handFormOne.text(hand.words, 1), batch: 1, rate: firstRateOne},
		{side: ours, script: ours.consume(1), batch: 1, rate: firstRateOne},
	}
	for range b.opt.rounds {
		for _, c := range arms {
			if err := b.snapshotRound(ctx, r, c); err != nil {
				r.err = fmt.Errorf("%s: %w", c.side.name, err)
				fmt.Fprintf(b.say, " FAILED: %v", r.err)
				return r
			}
		}
	}
	for part := range snapshotParts {
		fmt.Fprintf(b.say, "  %.2f", rig.Median(r.ratio[partKey("proxy", part)]))
	}
	return r
}

func (b *bench) snapshotRound(ctx context.Context, r *snapshotResult, c *consumer) error {
	clean, err := b.consume(ctx, c, "prepared", snapshotClients, b.opt.seconds)
	if err != nil {
		return err
	}
	if c.side.name == "proxy" {
		r.clean = append(r.clean, clean.tps)
	}
	if err := b.refill(ctx, c.side, deadRows); err != nil {
		return err
	}
	old, err := rig.OpenSnapshot(ctx, b.stack.Direct)
	if err != nil {
		return err
	}
	defer rig.CloseConn(old)
	if _, err := rig.Exec(ctx, b.stack.Direct.DSN(), "delete from "+c.side.table); err != nil {
		return err
	}
	seconds := snapshotParts * b.opt.seconds
	filled := int64(1.4 * max(clean.tps, leastRate) * float64(seconds+warmUp))
	if err := b.add(ctx, c.side, filled); err != nil {
		return err
	}
	s, err := b.pgbench(ctx, c.side.path, load{script: c.script, mode: "prepared", clients: snapshotClients, seconds: seconds})
	if err != nil {
		return err
	}
	left, err := b.left(ctx, c.side)
	if err != nil {
		return err
	}
	if left < snapshotClients {
		return errEmpty
	}
	if got := filled - left; got != s.count {
		return fmt.Errorf("INVALID: %d transactions took %d messages out of %d", s.count, got, filled)
	}
	for part := range snapshotParts {
		key := partKey(c.side.name, part)
		tps := rig.Mean(s.perSec[part*b.opt.seconds : (part+1)*b.opt.seconds])
		r.held[key] = append(r.held[key], tps)
		r.ratio[key] = append(r.ratio[key], tps/clean.tps)
	}
	return nil
}
