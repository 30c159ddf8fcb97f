package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mbusproxy/bench/internal/rig"
)

// The databases, one for each contender: a held snapshot keeps the dead rows of its database.
const (
	ours   = "bus"
	theirs = "pgq"
)

// options are the flags.
type options struct {
	minutes int
	scope   rig.Scope
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	opt, err := parseFlags(args)
	return rig.Run("bench-steady", "the ratios are below what is to be reached", err, func(ctx context.Context) (bool, error) { return measure(ctx, opt) })
}

func parseFlags(args []string) (options, error) {
	var opt options
	f := flag.NewFlagSet("bench-steady", flag.ContinueOnError)
	f.IntVar(&opt.minutes, "minutes", 30, "how many `minutes` the load goes on")
	opt.scope.Flags(f, "nothing", "docs/steady.md")
	if err := f.Parse(args); err != nil {
		return opt, err
	}
	if f.NArg() > 0 || opt.minutes < 1 {
		return opt, errors.New("-minutes is at least 1, and there are no other arguments")
	}
	err := opt.scope.Read()
	return opt, err
}

func measure(ctx context.Context, opt options) (ok bool, err error) {
	tools, dir, remove, err := rig.Prepare(ctx, "mbus-steady-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	r := &report{opt: opt, began: time.Now(), machine: rig.DescribeMachine(tools)}
	stack, err := rig.Start(ctx, tools, rig.Options{Dir: filepath.Join(dir, "stack"), Databases: []string{ours, theirs}, Connections: 50})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, stack.Stop()) }()
	bus, pgq := mbusLoad(stack.Proxy.To(ours)), pgqLoad(stack.Direct.To(theirs))
	for _, l := range []*load{bus, pgq} {
		if _, err := rig.Exec(ctx, l.way.DSN(), l.setUp); err != nil {
			return false, fmt.Errorf("setting up %s: %w", l.name, err)
		}
	}
	for _, name := range []string{ours, theirs} {
		snapshot, err := rig.OpenSnapshot(ctx, stack.Direct.To(name))
		if err != nil {
			return false, err
		}
		defer rig.CloseConn(snapshot)
	}
	if err := r.watch(ctx, stack, bus, pgq); err != nil {
		return false, err
	}
	if err := opt.scope.Write(r.markdown()); err != nil {
		return false, err
	}
	return r.reached(), nil
}

// report is what was seen.
type report struct {
	opt     options
	began   time.Time
	machine []rig.Property
	minutes []minute
}

// minute is what came through in one minute.
type minute struct {
	bus, pgq flow
	dead     int64 // rows of mbus4.message
}

// To reach: see reached.
const (
	lastOfFirst = 0.9
	ofPgQ       = 1.0
)

// first and last are the messages consumed in the first minute and in the last.
func (r *report) first() minute { return r.minutes[0] }
func (r *report) last() minute  { return r.minutes[len(r.minutes)-1] }

func ratio(a, b int64) float64 { return float64(a) / float64(max(b, 1)) }

// reached reports whether the last minute is as fast as the first, and as PgQ.
func (r *report) reached() bool {
	return ratio(r.last().bus.consumed, r.first().bus.consumed) >= lastOfFirst && ratio(r.last().bus.consumed, r.last().pgq.consumed) >= ofPgQ
}

// watch runs both loads, and notes what comes through.
func (r *report) watch(ctx context.Context, stack *rig.Stack, bus, pgq *load) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		failed <- runAll(ctx, bus, pgq)
	}()
	defer func() { cancel(); <-ended }()
	ticks := time.NewTicker(time.Minute)
	defer ticks.Stop()
	for range r.opt.minutes {
		select {
		case err := <-failed:
			return err
		case <-ticks.C:
		}
		dead, err := rig.Count(ctx, stack.Direct.To(ours).DSN(), "select n_dead_tup from pg_stat_user_tables where relid = 'mbus4.message'::regclass")
		if err != nil {
			return err
		}
		m := minute{bus: bus.take(), pgq: pgq.take(), dead: dead}
		r.minutes = append(r.minutes, m)
		fmt.Fprintf(os.Stderr, "minute %d: %s %+v, %s %+v, %d dead rows\n", len(r.minutes), bus.name, m.bus, pgq.name, m.pgq, m.dead)
	}
	return nil
}

func (r *report) markdown() string {
	var b strings.Builder
	b.WriteString(`# Half an hour under a held snapshot

Written by ` + "`make bench-steady`" + `; do not edit. Messages a second that came through two queues on one server in the same minutes, at full speed, while a snapshot was
held in each database from the beginning: two sessions post one message after the other, one consumes, ` + "`mbus4.consumen`" + ` a hundred at a time through the proxy, PgQ whole
batches directly. Both share the processors, so what one does not use the other has.

`)
	rows := [][]string{{"Machine", ""}}
	for _, p := range r.machine {
		rows = append(rows, []string{p.Name, p.Value})
	}
	rows = append(rows, []string{"Date", r.began.UTC().Format("2006-01-02 15:04 UTC")}, []string{"Command", fmt.Sprintf("`go run ./bench/steady -minutes %d`", r.opt.minutes)})
	rig.Table(&b, 2, rows)
	b.WriteString("\n| what | to reach | this run |\n|---|--:|--:|\n")
	fmt.Fprintf(&b, "| consumed in the last minute, of the first | %.1f | %.2f |\n", lastOfFirst, ratio(r.last().bus.consumed, r.first().bus.consumed))
	fmt.Fprintf(&b, "| consumed in the last minute, of PgQ's | %.1f | %.2f |\n", ofPgQ, ratio(r.last().bus.consumed, r.last().pgq.consumed))
	fmt.Fprintf(&b, "| PgQ's own last minute, of its first | | %.2f |\n\n", ratio(r.last().pgq.consumed, r.first().pgq.consumed))
	rows = [][]string{{"Minute", "posted a second", "consumed", "dead rows", "PgQ: posted a second", "consumed"}}
	for i, m := range r.minutes {
		if n := i + 1; n == 1 || n%5 == 0 || n == len(r.minutes) {
			rows = append(rows, []string{
				fmt.Sprint(n), fmt.Sprint(m.bus.posted / 60), fmt.Sprint(m.bus.consumed / 60), fmt.Sprint(m.dead),
				fmt.Sprint(m.pgq.posted / 60), fmt.Sprint(m.pgq.consumed / 60),
			})
		}
	}
	rig.Table(&b, 0, rows)
	return b.String()
}
