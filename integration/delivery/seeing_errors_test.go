package delivery

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

// The views count messages for which a consumer's selector fails, from when housekeeping has given it a counter.
func TestSeeingSelectorErrors(t *testing.T) {
	t.Parallel()
	conn := harness.Connect(t, harness.Proxied(), harness.NewQueueDatabase(t, "q"))
	harness.Ask(t, conn, "select mbus4.create_consumer('q', 'c', $$ (t.data->'n')::int > 5 $$)")
	const errors = "(select selector_errors from mbus4.consumers where queue = 'q' and consumer = 'c')"
	harness.Await(t, conn, "select coalesce("+errors+" = 0, false)")
	harness.Ask(t, conn, "select mbus4.post('q', 'n=>7'), mbus4.post('q', 'n=>x'), mbus4.post('q', 'n=>y')")
	harness.Await(t, conn, "select "+errors+" = 2")
	harness.Want(t, conn, "2|1", "select selector_errors, ready - 2 from mbus4.queues where queue = 'q'")
	harness.Want(t, conn, "∅|3", "select selector_errors, ready from mbus4.consumers where queue = 'q' and consumer = 'default'")
	harness.Want(t, conn, "1", "select ready from mbus4.consumers where queue = 'q' and consumer = 'c'")
}
