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

	"mbusproxy/bench/internal/rig"
)

// load is what pgbench is to do.
type load struct {
	script  string // its own script; "": the built-in select-only one
	mode    string // simple, extended or prepared
	clients int
	seconds int
	rate    float64 // transactions a second that are asked for; 0: as many as there can be
}

// warmUp is how many seconds at the beginning of each run do not count: new server processes fill their caches and plan
// prepared statements, which sessions behind pgbouncer find done by those before them.
const warmUp = 1

// sample is what one run of one arm gave.
type sample struct {
	tps     float64   // without the time of warmUp
	count   int64     // all transactions
	perSec  []float64 // tps of each second that counts
	cpu     float64   // microseconds of the process in the middle per transaction; 0: none
	server  float64   // microseconds of the clients' server processes per transaction, where they are measured
	batches int64     // messages per transaction, for the cells of queues
}

// pgbench runs a load through p.
func (b *bench) pgbench(ctx context.Context, p rig.Path, l load) (sample, error) {
	args := []string{
		"-n", "-M", l.mode, "-P", "1",
		"-c", strconv.Itoa(l.clients), "-j", strconv.Itoa(min(2, l.clients)), "-T", strconv.Itoa(warmUp + l.seconds),
	}
	if l.rate > 0 {
		args = append(args, "-R", fmt.Sprintf("%.0f", l.rate))
	}
	if l.script == "" {
		args = append(args, "-S")
	} else {
		file, err := writeScript(l.script)
		if err != nil {
			return sample{}, err
		}
		defer func() { _ = os.RemoveAll(filepath.Dir(file)) }()
		args = append(args, "-D", "selector="+dynSelector, "-D", "queue="+queueName, "-D", "n=0", "-D", "salt=0", "-f", file)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(l.seconds)*time.Second+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.tools.Pgbench, append(args, p.DSN())...)
	cmd.Env = rig.CleanEnv()
	s, err := timed(p, func() (sample, error) {
		out, err := cmd.CombinedOutput()
		if err != nil {
			return sample{}, fmt.Errorf("%w: %s", err, complaint(string(out)))
		}
		return parseSample(string(out), l.seconds)
	})
	if err != nil {
		return s, fmt.Errorf("pgbench through %s: %w", p.Name, err)
	}
	return s, nil
}

// timed adds the processor time of the process in the middle to what run gives.
func timed(p rig.Path, run func() (sample, error)) (sample, error) {
	if p.PID == 0 {
		return run()
	}
	before, err := rig.CPUTime(p.PID)
	if err != nil {
		return sample{}, err
	}
	s, err := run()
	if err != nil {
		return s, err
	}
	after, err := rig.CPUTime(p.PID)
	s.cpu = float64((after - before).Nanoseconds()) / 1000 / float64(s.count)
	return s, err
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
	progressLine = regexp.MustCompile(`(?m)^progress: [0-9.]+ s, ([0-9.]+) tps`)
)

// parseSample reads what pgbench 14 and newer print of a run whose last so many seconds count.
func parseSample(out string, seconds int) (sample, error) {
	var s sample
	n := countLine.FindStringSubmatch(out)
	if n == nil {
		return s, fmt.Errorf("no result in its output: %s", complaint(out))
	}
	if f := failedLine.FindStringSubmatch(out); f != nil && f[1] != "0" {
		return s, fmt.Errorf("%s transactions failed", f[1])
	}
	var errs []error
	var err error
	s.count, err = strconv.ParseInt(n[1], 10, 64)
	errs = append(errs, err)
	told := 0.0
	for _, m := range progressLine.FindAllStringSubmatch(out, -1) {
		tps, err := strconv.ParseFloat(m[1], 64)
		errs = append(errs, err)
		s.perSec = append(s.perSec, tps)
		told += tps
	}
	if err := errors.Join(errs...); err != nil {
		return s, err
	}
	switch missing := warmUp + seconds - len(s.perSec); {
	case missing == 1: // it may end before it tells of the last second
		s.perSec = append(s.perSec, max(float64(s.count)-told, 0))
	case missing > 1:
		return s, fmt.Errorf("it told of %d seconds, not %d", len(s.perSec), warmUp+seconds)
	}
	s.perSec = s.perSec[warmUp : warmUp+seconds]
	s.tps = rig.Mean(s.perSec)
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
