// Package calls tests what each function of the catalogue means: its results, its effects, its errors and its
// description, called in every form of the protocol. docs/functions.md and docs/semaphore.md are held to what comes.
//
// It refuses to know where in a statement a call may stand (statements), in what order messages come (delivery), and
// who may call (security).
package calls

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
