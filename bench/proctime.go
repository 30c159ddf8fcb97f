package main

import (
	"context"
	"fmt"
	"strings"

	"mbusproxy/bench/internal/rig"
)

const (
	servedName    = "served"
	forwardedName = "forwarded"
	cpuClients    = 8
	cpuShare      = 0.6 // of the throughput that the slower arm reaches in a trial
)

func cpuName(action, mode string) string { return "cpu/" + action + "/" + mode }

// cpuCells compare the proxy's processor time for calls that it knows from its cache with that for
// the same bytes, but for one letter, that it forwards: calls of functions written by hand in a
// schema mbus5, which send back the same. What a transaction costs depends on how busy the proxy
// is, so both arms are asked for the same number of transactions a second.
func (b *bench) cpuCells() []*cell {
	var cells []*cell
	for _, action := range actions {
		for _, mode := range protocols {
			cells = append(cells, b.cpuCell(action, mode))
		}
	}
	return cells
}

func (b *bench) cpuCell(action, mode string) *cell {
	served, forwarded := b.ours(plain), side{words: standIns, name: forwardedName, path: b.stack.Proxy}
	served.name = servedName
	var rate float64
	run := func(ctx context.Context, s side, rate float64, seconds int) (sample, error) {
		if action == "post" {
			return b.post(ctx, s, 1, load{mode: mode, clients: cpuClients, seconds: seconds, rate: rate})
		}
		x := &consumer{side: s, batch: 1, rate: rate, asked: rate, script: s.consume(1)}
		if rate == 0 {
			x.rate = firstRateOne
		}
		return b.consume(ctx, x, mode, cpuClients, seconds)
	}
	c := &cell{name: cpuName(action, mode)}
	for _, s := range []side{forwarded, served} {
		c.arms = append(c.arms, arm{name: s.name, run: func(ctx context.Context) (sample, error) {
			return run(ctx, s, rate, b.opt.seconds)
		}})
	}
	c.prepare = func(ctx context.Context, c *cell) error {
		for _, s := range []side{forwarded, served} {
			trial, err := run(ctx, s, 0, trialSeconds)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if reached := cpuShare * trial.tps; rate == 0 || reached < rate {
				rate = reached
			}
		}
		return nil
	}
	return c
}

func (r *report) cpuTable(b *strings.Builder) {
	rows := [][]string{{"Call", "Protocol", "transactions a second", "forwarded, µs", "served, µs", "served / forwarded"}}
	for _, c := range r.group("cpu") {
		row := []string{c.part(1), c.part(2)}
		if c.err != nil {
			rows = append(rows, append(row, "**"+c.err.Error()+"**"))
			continue
		}
		rows = append(rows, append(row, fmt.Sprintf("%.0f", c.tps(servedName)),
			fmt.Sprintf("%.1f", c.cpu(forwardedName)), fmt.Sprintf("%.1f", c.cpu(servedName)), rig.Spread(c.cpuRatios(servedName, forwardedName))))
	}
	if len(rows) == 1 {
		return
	}
	fmt.Fprintf(b, `## Processor time of a call

Of the proxy's process for each transaction, one message at a time, %d clients. Served: calls of mbus4 whose text, but for its
literals, is in the cache. Forwarded: the same bytes but for one letter, calls of functions of a schema `+"`mbus5`"+`, written by hand, of which the
proxy knows nothing and which send the same back. Both at the same rate, %.1f of what the slower one reached in a trial, since the time of a
transaction depends on how busy the proxy is. The time of the proxy's services while a database is in use counts as served.

`, cpuClients, cpuShare)
	rig.Table(b, 2, rows)
}
