package sagas

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// sagaProgram builds the example, once for all tests.
var sagaProgram = sync.OnceValues(func() (string, error) { return harness.Build("saga", "mbusproxy/examples/saga", "-race") })

// program makes a command of the built example that works on the saga's database.
func (s *saga) program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := sagaProgram()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(harness.Context(t), path, append([]string{"-dsn", harness.Proxied().URL(s.database)}, args...)...)
	cmd.SysProcAttr = harness.ChildAttributes()
	return cmd
}

// The program itself: exit status, log and table.
func TestSagaProgram(t *testing.T) {
	t.Parallel()
	s := newSaga(t)
	tests := []struct {
		args   []string
		status int
		wanted []string
	}{
		{nil, 0, []string{"Tour 1 is booked.", "transfer-from  booked", "Messages left: 0"}},
		{
			[]string{"-fail-at", "ticket-from", "-flaky"},
			0,
			[]string{"Tour 2 is cancelled, because ticket-from was refused.", "ticket-from    refused      -          refused", "room           cancelled", "Messages left: 0"},
		},
		{[]string{"-services", "rooms", "-timeout", "3s"}, 1, []string{"waiting for the end of tour 3"}},
		{[]string{"-fail-at", "lunch"}, 2, []string{`there is no step "lunch"`}},
		{[]string{"-services", "lunch"}, 2, []string{`there is no service "lunch"`}},
	}
	for _, test := range tests {
		ctx, cancel := context.WithTimeout(t.Context(), harness.AskLimit)
		cmd := s.program(t, test.args...)
		out, err := runBounded(ctx, cmd)
		cancel()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if cmd.ProcessState.ExitCode() != test.status {
			t.Errorf("%v: status %d, want %d\n%s", test.args, cmd.ProcessState.ExitCode(), test.status, out)
		}
		if i := slices.IndexFunc(test.wanted, func(w string) bool { return !strings.Contains(out, w) }); i >= 0 {
			t.Errorf("%v: %q is not in\n%s", test.args, test.wanted[i], out)
		}
	}
}

// runBounded is CombinedOutput that ends with ctx.
func runBounded(ctx context.Context, cmd *exec.Cmd) (string, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	err := cmd.Wait()
	return out.String(), err
}
