package clients

import (
	"strconv"
	"strings"
	"testing"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/integration/internal/programs"
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
		var outcomes []programs.Outcome
		for _, e := range harness.Both() {
			outcomes = append(outcomes, c.run(t, "ordinary", e))
		}
		compare(t, outcomes[0], outcomes[1])
		if got := outcomes[0]; got.Status != 0 || strings.Count(got.Stdout, "\n") < c.lines {
			t.Errorf("direct: status %d, want at least %d lines\n%s%s", got.Status, c.lines, got.Stdout, got.Stderr)
		}
	})
	t.Run("queue", func(t *testing.T) {
		t.Parallel()
		got := c.run(t, "queue", harness.Proxied())
		if got.Status != 0 || got.Stdout != queueTranscript {
			t.Errorf("status %d\n%s%s", got.Status, harness.LineDiff(queueTranscript, got.Stdout), got.Stderr)
		}
	})
}

func (c clientProgram) run(t *testing.T, mode string, e harness.Endpoint) programs.Outcome {
	t.Helper()
	args := append(append([]string{}, c.args...), mode, e.Host, strconv.Itoa(e.Port), harness.NewDatabase(t))
	return programs.Run(t, nil, "", c.dir, c.program, args...)
}

// compare reports where a program's outcome through the proxy differs from the direct one.
func compare(t *testing.T, viaDirect, viaProxy programs.Outcome) {
	t.Helper()
	if viaDirect.Status != viaProxy.Status {
		t.Errorf("status: direct %d, through the proxy %d", viaDirect.Status, viaProxy.Status)
	}
	if viaDirect.Stdout != viaProxy.Stdout {
		t.Errorf("output, direct (-) and through the proxy (+):\n%s", harness.LineDiff(viaDirect.Stdout, viaProxy.Stdout))
	}
	if viaDirect.Stderr != viaProxy.Stderr {
		t.Errorf("stderr, direct (-) and through the proxy (+):\n%s", harness.LineDiff(viaDirect.Stderr, viaProxy.Stderr))
	}
}
