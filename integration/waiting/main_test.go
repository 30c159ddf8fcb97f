// Package waiting tests calls that wait: what they are answered with and when, what ends a wait,
// and where a call cannot wait.
//
// It refuses to know what is delivered to whom when nobody waits (delivery), and what happens when
// processes die (ops, model).
package waiting

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
