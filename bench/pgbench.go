package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// load is what pgbench is to do.
type load struct {
	script   string // its own script; "": the built-in select-only one
	mode     string // simple, extended or prepared
	clients  int
	seconds  int
	progress bool // print the throughput of every second
}

// sample is what one run of one arm gave.
type sample struct {
	tps     float64
	count   int64     // transactions
	perSec  []float64 // tps of each second, when asked for
	cpu     float64   // microseconds of the process in the middle per transaction; 0: none
	batches int64     // messages per transaction, for the cells of queues
}

// pgbench runs a load through p.
func (b *bench) pgbench(ctx context.Context, p path, l load) (sample, error) {
	args := []string{
		"-n", "-h", loopback, "-p", strconv.Itoa(p.port), "-U", "postgres", "-M", l.mode,
		"-c", strconv.Itoa(l.clients), "-j", strconv.Itoa(min(2, l.clients)), "-T", strconv.Itoa(l.seconds),
	}
	if l.progress {
		args = append(args, "-P", "1")
	}
	if l.script == "" {
		args = append(args, "-S")
	} else {
		file, err := writeScript(l.script)
		if err != nil {
			return sample{}, err
		}
		defer func() { _ = os.RemoveAll(filepath.Dir(file)) }()
		args = append(args, "-D", "selector="+dynSelector, "-f", file)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(l.seconds)*time.Second+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.tools.pgbench, append(args, database)...)
	cmd.Env = cleanEnv()
	var before, after time.Duration
	var err error
	if p.pid != 0 {
		if before, err = cpuTime(p.pid); err != nil {
			return sample{}, err
		}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return sample{}, fmt.Errorf("pgbench through %s: %w: %s", p.name, err, complaint(string(out)))
	}
	s, err := parseSample(string(out))
	if err != nil {
		return s, fmt.Errorf("pgbench through %s: %w", p.name, err)
	}
	if p.pid != 0 {
		if after, err = cpuTime(p.pid); err != nil {
			return s, err
		}
		s.cpu = float64((after - before).Microseconds()) / float64(s.count)
	}
	return s, nil
}

func writeScript(text string) (string, error) {
	dir, err := os.MkdirTemp("", "mbus-bench-script-")
	if err != nil {
		return "", fmt.Errorf("writing a pgbench script: %w", err)
	}
	file := filepath.Join(dir, "script.sql")
	if err := os.WriteFile(file, []byte(text+"\n"), 0o644); err != nil {
		return "", errors.Join(fmt.Errorf("writing a pgbench script: %w", err), os.RemoveAll(dir))
	}
	return file, nil
}

var (
	countLine    = regexp.MustCompile(`(?m)^number of transactions actually processed: (\d+)`)
	failedLine   = regexp.MustCompile(`(?m)^number of failed transactions: (\d+)`)
	tpsLine      = regexp.MustCompile(`(?m)^tps = ([0-9.]+) \(without initial connection time\)`)
	progressLine = regexp.MustCompile(`(?m)^progress: [0-9.]+ s, ([0-9.]+) tps`)
)

// parseSample reads what pgbench 14 and newer print.
func parseSample(out string) (sample, error) {
	var s sample
	n, t := countLine.FindStringSubmatch(out), tpsLine.FindStringSubmatch(out)
	if n == nil || t == nil {
		return s, fmt.Errorf("no result in its output: %s", complaint(out))
	}
	if f := failedLine.FindStringSubmatch(out); f != nil && f[1] != "0" {
		return s, fmt.Errorf("%s transactions failed", f[1])
	}
	var errs []error
	var err error
	s.count, err = strconv.ParseInt(n[1], 10, 64)
	errs = append(errs, err)
	s.tps, err = strconv.ParseFloat(t[1], 64)
	errs = append(errs, err)
	for _, m := range progressLine.FindAllStringSubmatch(out, -1) {
		tps, err := strconv.ParseFloat(m[1], 64)
		errs = append(errs, err)
		s.perSec = append(s.perSec, tps)
	}
	if err := errors.Join(errs...); err != nil {
		return s, err
	}
	if s.count == 0 || s.tps == 0 {
		return s, errors.New("no transaction in the time given")
	}
	return s, nil
}

// complaint picks the first lines that say what went wrong.
func complaint(out string) string {
	var said []string
	for _, line := range strings.Split(out, "\n") {
		if strings.Contains(line, "error:") || strings.Contains(line, "ERROR:") || strings.Contains(line, "FATAL:") {
			said = append(said, strings.TrimSpace(line))
		}
	}
	if said == nil {
		said = strings.Split(strings.TrimSpace(out), "\n")
	}
	return strings.Join(said[:min(3, len(said))], "; ")
}
