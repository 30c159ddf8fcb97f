package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
)

// scale is pgbench's: a million accounts, about 150 MB.
const scale = 10

var (
	protocols   = []string{"simple", "extended", "prepared"}
	passClients = []int{1, 8, 64}
)

func passNames() []string {
	var names []string
	for _, mode := range protocols {
		for _, n := range passClients {
			names = append(names, passName(mode, n))
		}
	}
	return names
}

func passName(mode string, clients int) string { return fmt.Sprintf("select/%s/%d", mode, clients) }

// passCells are `pgbench -S` direct, through pgbouncer and through the proxy: what a session pays
// that has nothing to do with mbus4.
func (b *bench) passCells() []*cell {
	var cells []*cell
	for _, mode := range protocols {
		for _, clients := range passClients {
			c := &cell{name: passName(mode, clients)}
			for _, p := range []path{b.stack.direct, b.stack.bouncer, b.stack.proxy} {
				c.arms = append(c.arms, arm{name: p.name, run: func(ctx context.Context) (sample, error) {
					return b.pgbench(ctx, p, load{mode: mode, clients: clients, seconds: b.opt.seconds})
				}})
			}
			cells = append(cells, c)
		}
	}
	return cells
}

// fixtures makes what the wanted cells work on.
func (b *bench) fixtures(ctx context.Context) error {
	if b.anyWanted(passNames()) {
		fmt.Fprintf(b.say, "filling pgbench's tables, scale %d\n", scale)
		cmd := exec.CommandContext(ctx, b.tools.pgbench, "-i", "-q", "-s", strconv.Itoa(scale),
			"-h", loopback, "-p", strconv.Itoa(b.stack.direct.port), "-U", "postgres", database)
		cmd.Env = cleanEnv()
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("filling pgbench's tables: %w: %s", err, complaint(string(out)))
		}
	}
	if b.anyWanted(slices.Concat(queueNames(), dynNames(), []string{snapshotName})) {
		if _, err := execSQL(ctx, b.stack.proxy.dsn(), "select mbus4.create_queue('"+queueName+"', 1)"); err != nil {
			return fmt.Errorf("making the queue: %w", err)
		}
		if _, err := execSQL(ctx, b.stack.direct.dsn(), handTable); err != nil {
			return fmt.Errorf("making the plain table: %w", err)
		}
	}
	return nil
}
