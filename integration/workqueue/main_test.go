// Package workqueue tests the work queue: its calls, its handlers, processes that share it, and what a claim costs.
// docs/work-queue.md is held to what comes, and its table of rules to the tests here and in clients.
//
// It refuses to know the queues of messages but where a handler posts to them.
package workqueue

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
