package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mbusproxy/bench/internal/rig"
)

const defaultOut = "docs/scale.md"

// options are the flags.
type options struct {
	size   float64       // of the states, 1: as the issue says
	length time.Duration // of one run
	rounds int           // runs of each call in each database
	scope  rig.Scope
	steep  int // how many are drawn
}

// bench is one run of the program.
type bench struct {
	opt   options
	stack *rig.Stack
	say   io.Writer // progress
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	opt, err := parseFlags(args)
	return rig.Run("bench-scale", "some calls failed; see the tables", err, func(ctx context.Context) (bool, error) { return measure(ctx, opt) })
}

func parseFlags(args []string) (options, error) {
	var opt options
	var seconds float64
	f := flag.NewFlagSet("bench-scale", flag.ContinueOnError)
	f.Float64Var(&opt.size, "size", 1, "how much of each state: 1 all, 0.001 a `thousandth`")
	f.Float64Var(&seconds, "seconds", 0.25, "length of one run, in `seconds`")
	f.IntVar(&opt.rounds, "rounds", 7, "`number` of runs of each call in each of the two databases")
	f.IntVar(&opt.steep, "steepest", 6, "`number` of states to draw over their size")
	opt.scope.Flags(f, "state/moment/queue/call", defaultOut)
	if err := f.Parse(args); err != nil {
		return opt, err
	}
	opt.length = time.Duration(seconds * float64(time.Second))
	switch {
	case f.NArg() > 0:
		return opt, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case opt.size <= 0 || opt.length <= 0 || opt.rounds < 1 || opt.steep < 0:
		return opt, errors.New("-size and -seconds are more than 0, -rounds at least 1, -steepest at least 0")
	}
	err := opt.scope.Read()
	return opt, err
}

// measure runs everything and reports; false: some call failed.
func measure(ctx context.Context, opt options) (ok bool, err error) {
	tools, dir, remove, err := rig.Prepare(ctx, "mbus-scale-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	began := time.Now()
	r := &report{opt: opt, began: began, machine: rig.DescribeMachine(tools)}
	b := &bench{opt: opt, say: os.Stderr}
	b.stack, err = startStack(ctx, tools, filepath.Join(dir, "stack"), nil)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, b.stack.Stop()) }()
	for _, s := range states() {
		results, err := b.state(ctx, s, s.sized(opt.size), func(m moment) []target { return b.wanted(s, m) })
		r.results = append(r.results, results...)
		if err != nil {
			return false, err
		}
	}
	if err := b.draw(ctx, r); err != nil {
		return false, err
	}
	r.took = time.Since(began)
	if err := opt.scope.Write(r.markdown()); err != nil {
		return false, err
	}
	return r.valid(), nil
}

// startStack starts Postgres without autovacuum, and the proxy, and makes the template.
func startStack(ctx context.Context, tools rig.Tools, dir string, more map[string]string) (*rig.Stack, error) {
	settings := map[string]string{"autovacuum": "off"}
	for k, v := range more {
		settings[k] = v
	}
	stack, err := rig.Start(ctx, tools, rig.Options{Dir: dir, Databases: []string{"admin"}, Connections: 400, Settings: settings})
	if err != nil {
		return nil, err
	}
	if err := makeTemplate(ctx, stack); err != nil {
		return nil, errors.Join(err, stack.Stop())
	}
	return stack, nil
}

// command is the command line of this run.
func (o options) command() string {
	parts := []string{fmt.Sprintf("go run ./bench/scale -size %v -seconds %v -rounds %d -steepest %d", o.size, o.length.Seconds(), o.rounds, o.steep)}
	return strings.Join(append(parts, o.scope.Args()...), " ")
}
