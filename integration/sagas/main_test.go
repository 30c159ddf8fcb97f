// Package sagas runs examples/saga, the pattern that docs/sagas.md describes, to success and to failure at each step,
// with connections and processes that die.
//
// It refuses to know queues but by the example and by the messages that it must not leave behind.
package sagas

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
