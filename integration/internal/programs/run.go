package programs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// Find finds a client program, or fails with what to install.
func Find(t *testing.T, name, install string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is missing: install %s (%v)", name, install, err)
	}
	return path
}

// NeedFile fails with what to install when a file is missing.
func NeedFile(t *testing.T, path, install string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is missing: install %s (%v)", path, install, err)
	}
}

// Outcome is the outcome of a program.
type Outcome struct {
	Stdout, Stderr string
	Status         int
}

// Run executes a program to its end, which harness.TestLimit bounds.
func Run(t *testing.T, env []string, stdin, dir, program string, args ...string) Outcome {
	t.Helper()
	cmd := exec.CommandContext(harness.Context(t), program, args...)
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
	if context.Cause(harness.Context(t)) != nil || cmd.ProcessState.ExitCode() < 0 {
		t.Fatalf("%s %v did not end by itself: %v\n%s%s", program, args, err, stdout.String(), stderr.String())
	}
	return Outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}
