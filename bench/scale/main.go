package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"mbusproxy/bench/internal/rig"
)

const defaultOut = "docs/scale.md"

// options are the flags.
type options struct {
	size   float64        // of the states, 1: as the issue says
	length time.Duration  // of one run
	rounds int            // runs of each call in each database
	only   *regexp.Regexp // nil: all
	out    string         // file; "-": print only
	steep  int            // how many are drawn
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
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-scale:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := measure(ctx, opt)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "bench-scale: interrupted")
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench-scale:", err)
	case !ok:
		fmt.Fprintln(os.Stderr, "bench-scale: some calls failed; see the tables")
	default:
		return 0
	}
	return 1
}

func parseFlags(args []string) (options, error) {
	var opt options
	var only string
	var seconds float64
	f := flag.NewFlagSet("bench-scale", flag.ContinueOnError)
	f.Float64Var(&opt.size, "size", 1, "how much of each state: 1 all, 0.001 a `thousandth`")
	f.Float64Var(&seconds, "seconds", 0.25, "length of one run, in `seconds`")
	f.IntVar(&opt.rounds, "rounds", 7, "`number` of runs of each call in each of the two databases")
	f.IntVar(&opt.steep, "steepest", 6, "`number` of states to draw over their size")
	f.StringVar(&only, "only", "", "`regexp` of state/moment/queue/call; prints only, unless -out is given")
	f.StringVar(&opt.out, "out", "", "`file` to write, - for printing only (default "+defaultOut+")")
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
	if only != "" {
		re, err := regexp.Compile(only)
		if err != nil {
			return opt, fmt.Errorf("reading -only: %w", err)
		}
		opt.only = re
		if opt.out == "" {
			opt.out = "-" // a run of some must not replace the report of all
		}
	}
	if opt.out == "" {
		opt.out = defaultOut
	}
	return opt, nil
}

// measure runs everything and reports; false: some call failed.
func measure(ctx context.Context, opt options) (ok bool, err error) {
	tools, err := rig.FindTools()
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "mbus-scale-")
	if err != nil {
		return false, fmt.Errorf("making a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if tools.Proxy, err = rig.BuildProxy(ctx, dir); err != nil {
		return false, err
	}
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
	text := r.markdown()
	if opt.out != "-" {
		if err := os.WriteFile(opt.out, []byte(text), 0o644); err != nil {
			return false, fmt.Errorf("writing the report: %w", err)
		}
	}
	fmt.Println(text)
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
	if o.only != nil {
		parts = append(parts, fmt.Sprintf("-only '%s'", strings.ReplaceAll(o.only.String(), "|", "\\|")))
	}
	if o.out != defaultOut {
		parts = append(parts, "-out "+o.out)
	}
	return strings.Join(parts, " ")
}
