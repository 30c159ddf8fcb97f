package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mbusproxy/bench/internal/rig"
	"mbusproxy/bench/internal/semaphores"
)

const defaultOut = "docs/bench.md"

// options are the flags.
type options struct {
	seconds  int // of one run of one arm
	rounds   int // runs of each arm
	scraping time.Duration
	scope    rig.Scope
}

// bench is one run of the program.
type bench struct {
	opt   options
	tools rig.Tools
	stack *rig.Stack
	say   io.Writer       // progress
	forms map[string]form // chosen by a trial, by table and number of messages
}

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	opt, err := parseFlags(args)
	return rig.Run("bench", "some cells failed or are invalid; see the table", err, func(ctx context.Context) (bool, error) { return measure(ctx, opt) })
}

func parseFlags(args []string) (options, error) {
	var opt options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.IntVar(&opt.seconds, "seconds", 1, "length of one run of one arm, in `seconds`, after one to warm up")
	f.IntVar(&opt.rounds, "rounds", 7, "`number` of runs of each arm; of pass-through twice as many and one")
	f.DurationVar(&opt.scraping, "scraping", 5*time.Minute, "for how `long` the metrics are scraped")
	opt.scope.Flags(f, "the names of the cells to run, such as ^post/.*/prepared", defaultOut)
	if err := f.Parse(args); err != nil {
		return opt, err
	}
	switch {
	case f.NArg() > 0:
		return opt, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case opt.seconds < 1 || opt.rounds < 1 || opt.scraping < time.Second:
		return opt, errors.New("-seconds and -rounds are at least 1, -scraping at least a second")
	}
	err := opt.scope.Read()
	return opt, err
}

// measure runs the cells and reports; false: a cell failed or is invalid.
func measure(ctx context.Context, opt options) (ok bool, err error) {
	t, dir, remove, err := rig.Prepare(ctx, "mbus-bench-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	b := &bench{opt: opt, tools: t, say: os.Stderr, forms: map[string]form{}}
	began := time.Now()
	r := &report{opt: opt, began: began, machine: rig.DescribeMachine(t)}
	if err := b.loaded(ctx, dir, r); err != nil {
		return false, err
	}
	if err := b.idle(ctx, dir, r); err != nil {
		return false, err
	}
	slots := &semaphores.Bench{Tools: t, Databases: databases, Say: b.say, Wanted: b.wanted, Rounds: opt.rounds, Seconds: opt.seconds}
	if r.slots, err = slots.Run(ctx, dir); err != nil {
		return false, err
	}
	if err := b.waiting(ctx, dir, r); err != nil {
		return false, err
	}
	if err := b.seeing(ctx, dir, r); err != nil {
		return false, err
	}
	if err := b.scraping(ctx, dir, r); err != nil {
		return false, err
	}
	if err := b.tracing(ctx, dir, r); err != nil {
		return false, err
	}
	r.took = time.Since(began)
	if err := opt.scope.Write(r.markdown()); err != nil {
		return false, err
	}
	return r.valid(), nil
}

// loaded runs the cells that measure throughput, all on one Postgres.
func (b *bench) loaded(ctx context.Context, dir string, r *report) (err error) {
	b.stack = &rig.Stack{} // for the names of the cells
	if !b.wanted(snapshotName) && len(b.wantedOf(b.cells())) == 0 && len(b.wantedOf(watchedCells(watchedPaths{}))) == 0 {
		return nil
	}
	fmt.Fprintln(b.say, "starting Postgres, pgbouncer and mbusproxy")
	b.stack, err = rig.Start(ctx, b.tools, rig.Options{Dir: filepath.Join(dir, "loaded"), Databases: databases, Connections: 300, Bouncer: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stack.Stop()) }()
	if err := b.fixtures(ctx); err != nil {
		return err
	}
	for _, c := range b.wantedOf(b.cells()) {
		r.cells = append(r.cells, b.run(ctx, c))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := b.watched(ctx, dir, r); err != nil {
		return err
	}
	if b.wanted(snapshotName) {
		r.snapshot = b.snapshot(ctx)
	}
	return ctx.Err()
}

func (b *bench) wanted(name string) bool {
	return b.opt.scope.Wants(name)
}

// wantedOf returns those of the cells that are wanted.
func (b *bench) wantedOf(cells []*cell) []*cell {
	return slices.DeleteFunc(cells, func(c *cell) bool { return !b.wanted(c.name) })
}

func (b *bench) cells() []*cell {
	return slices.Concat(b.passCells(), b.queueCells(), b.leaseCells(), b.dynCells(), b.cpuCells())
}

// manyRounds is for the cells whose target needs a narrow interval.
func (o options) manyRounds() int { return 2*o.rounds + 1 }

// command is the command line of this run.
func (o options) command() string {
	parts := []string{"go run ./bench", fmt.Sprintf("-seconds %d -rounds %d", o.seconds, o.rounds)}
	return strings.Join(append(parts, o.scope.Args()...), " ")
}
