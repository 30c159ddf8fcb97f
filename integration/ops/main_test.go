// Package ops tests what operators do and what happens to them: failover, handover to a new process, poolers before and
// behind the proxy, several proxies, faults of the network, cancel, a database made anew, and transfers of gigabytes.
//
// It refuses to know more of calls than a post and a consume.
package ops

import (
	"os"
	"testing"

	"mbusproxy/integration/internal/harness"
)

func TestMain(m *testing.M) {
	_ = os.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20") // milliseconds until spans are exported, of the proxies that the tests start
	harness.Main(m)
}
