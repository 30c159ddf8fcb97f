package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"

	"mbusproxy/bench/internal/rig"
)

// scale is pgbench's: a million accounts, about 150 MB.
const scale = 10

var (
	protocols   = []string{simpleMode, "extended", "prepared"}
	passClients = []int{1, 8, 64}
)

func passName(mode string, clients int) string { return fmt.Sprintf("select/%s/%d", mode, clients) }

func tlsName(mode string) string { return "tls/" + mode + "/8" }

// passCells are what a session pays that has nothing to do with mbus4: what `pgbench -S` does,
// direct, through pgbouncer and through the proxy; the same with TLS from the client to the one in
// the middle; and much data.
func (b *bench) passCells() []*cell {
	var cells []*cell
	middle := []rig.Path{b.stack.Bouncer, b.stack.Proxy}
	for _, mode := range protocols {
		for _, clients := range passClients {
			paths := middle
			if clients == 8 {
				paths = append(slices.Clone(middle), b.stack.Direct)
			}
			cells = append(cells, selectCell(passName(mode, clients), mode, clients, paths...))
		}
	}
	for _, mode := range protocols {
		cells = append(cells, selectCell(tlsName(mode), mode, 8, middle[0].WithTLS(), middle[1].WithTLS()))
	}
	for _, q := range bulkQueries {
		for _, clients := range bulkClients {
			c := &cell{name: bulkName(q.name, clients), many: true}
			for _, p := range middle {
				c.arms = append(c.arms, arm{name: p.Name, run: func(ctx context.Context) (sample, error) {
					return b.bulk(ctx, p, q.sql, clients)
				}})
			}
			cells = append(cells, c)
		}
	}
	return cells
}

func selectCell(name, mode string, clients int, paths ...rig.Path) *cell {
	c := &cell{name: name}
	for _, p := range paths {
		c.turns = append(c.turns, turn{name: p.Name, path: p, clients: clients, say: selects(mode)})
	}
	return c
}

// fixtures makes what the cells work on.
func (b *bench) fixtures(ctx context.Context) error {
	fmt.Fprintf(b.say, "filling pgbench's tables, scale %d\n", scale)
	cmd := exec.CommandContext(ctx, b.tools.Pgbench, "-i", "-q", "-s", strconv.Itoa(scale), b.stack.Direct.DSN())
	cmd.Env = rig.CleanEnv()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("filling pgbench's tables: %w: %s", err, complaint(string(out)))
	}
	var errs []error
	for _, database := range slices.Sorted(maps.Keys(ourFixtures)) {
		_, err := rig.Exec(ctx, b.stack.Proxy.To(database).DSN(), ourFixtures[database])
		errs = append(errs, err)
	}
	_, err := rig.Exec(ctx, b.stack.Direct.DSN(), handFixtures+"; "+leaseFixtures)
	if err := errors.Join(append(errs, err)...); err != nil {
		return fmt.Errorf("making queues and tables: %w", err)
	}
	return nil
}
