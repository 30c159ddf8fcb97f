// Package delivery tests which message comes to whom, when, in what order and in whose transaction, and that what this
// costs does not grow with the queue.
//
// It refuses to know the notations of a call (calls, statements) and what happens when a process dies (ops).
package waiting

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
