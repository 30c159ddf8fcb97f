package integration

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// queueTranscript is what every client program prints in mode "queue". The programs differ in how
// they bind, prepare and fetch; what they see may not.
const queueTranscript = `created
posted first
posted later
generated ok
consumed first A1 new t1
rolled back
consumed first A1 new t1
committed
consumed generated
empty
exists true
took later
error 42704
posted dup
error 23505
left dup
`

// tool finds a client program, or fails with what to install.
func tool(t *testing.T, name, install string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is missing: install %s (%v)", name, install, err)
	}
	return path
}

// needFile fails with what to install when a file is missing.
func needFile(t *testing.T, path, install string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is missing: install %s (%v)", path, install, err)
	}
}

// ran is the outcome of a program.
type ran struct {
	stdout, stderr string
	status         int
}

// run executes a program to its end, which testLimit bounds.
func run(t *testing.T, env []string, stdin, dir, program string, args ...string) ran {
	t.Helper()
	cmd := exec.CommandContext(testContext(t), program, args...)
	cmd.Env = append(os.Environ(), append([]string{"LC_ALL=C.UTF-8", "TZ=UTC"}, env...)...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v\n%s", program, err, stderr.String())
	}
	if context.Cause(testContext(t)) != nil || cmd.ProcessState.ExitCode() < 0 {
		t.Fatalf("%s %v did not end by itself: %v\n%s%s", program, args, err, stdout.String(), stderr.String())
	}
	return ran{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// clientProgram is a helper program that speaks to one database in one of two modes:
// "ordinary" prints the results of work without queues, "queue" prints queueTranscript.
type clientProgram struct {
	program string
	args    []string // before mode, host, port and database
	dir     string
	lines   int // how many the ordinary mode prints at least
}

// test runs the ordinary mode direct and through the proxy and compares, then the queue mode.
func (c clientProgram) test(t *testing.T) {
	t.Helper()
	t.Run("ordinary", func(t *testing.T) {
		t.Parallel()
		var outcomes []ran
		for _, e := range both() {
			outcomes = append(outcomes, c.run(t, "ordinary", e))
		}
		compare(t, outcomes[0], outcomes[1])
		if got := outcomes[0]; got.status != 0 || strings.Count(got.stdout, "\n") < c.lines {
			t.Errorf("direct: status %d, want at least %d lines\n%s%s", got.status, c.lines, got.stdout, got.stderr)
		}
	})
	t.Run("queue", func(t *testing.T) {
		t.Parallel()
		got := c.run(t, "queue", proxied)
		if got.status != 0 || got.stdout != queueTranscript {
			t.Errorf("status %d\n%s%s", got.status, lineDiff(queueTranscript, got.stdout), got.stderr)
		}
	})
}

func (c clientProgram) run(t *testing.T, mode string, e endpoint) ran {
	t.Helper()
	args := append(append([]string{}, c.args...), mode, e.host, strconv.Itoa(e.port), newDatabase(t))
	return run(t, nil, "", c.dir, c.program, args...)
}

// compare reports where a program's outcome through the proxy differs from the direct one.
func compare(t *testing.T, viaDirect, viaProxy ran) {
	t.Helper()
	if viaDirect.status != viaProxy.status {
		t.Errorf("status: direct %d, through the proxy %d", viaDirect.status, viaProxy.status)
	}
	if viaDirect.stdout != viaProxy.stdout {
		t.Errorf("output, direct (-) and through the proxy (+):\n%s", lineDiff(viaDirect.stdout, viaProxy.stdout))
	}
	if viaDirect.stderr != viaProxy.stderr {
		t.Errorf("stderr, direct (-) and through the proxy (+):\n%s", lineDiff(viaDirect.stderr, viaProxy.stderr))
	}
}

// lineDiff shows the lines of two texts that are expected to be equal, the first ones that differ
// marked with - and +.
func lineDiff(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	var out strings.Builder
	for i := range max(len(as), len(bs)) {
		switch {
		case i < len(as) && i < len(bs) && as[i] == bs[i]:
			out.WriteString("  " + as[i] + "\n")
			continue
		case i < len(as):
			out.WriteString("- " + as[i] + "\n")
		}
		if i < len(bs) {
			out.WriteString("+ " + bs[i] + "\n")
		}
	}
	return out.String()
}
