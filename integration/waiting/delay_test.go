package waiting

import (
	"fmt"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// Who comes to wait for what was posted with a delay, or leased, long before gets it when that
// ends, though the proxy has looked for others since, and without a sweep.
func TestWaitForEarlierDelay(t *testing.T) {
	t.Parallel()
	proxy, database := unswept(t), harness.NewQueueDatabase(t, "q", "other")
	direct := harness.Connect(t, harness.Direct(), database)
	first := harness.Connect(t, proxy.Endpoint, database)
	others := ask(t, first, `select 1 from mbus4.consume('other', wait => '1h')`)
	awaitWaiting(t, direct, first)
	other := harness.Connect(t, proxy.Endpoint, database)
	for i, way := range []string{
		`select mbus4.post('q', $1::hstore, delayed_until => localtimestamp + interval '1 second') is not null`,
		`with p as (select mbus4.post('q', $1::hstore)) select count(*) from p`,
	} {
		n := fmt.Sprint(i)
		harness.Ask(t, other, way, "n=>"+n)
		if i == 1 {
			harness.Want(t, other, n, `select data->'n' from mbus4.lease('q', lease => '1s')`)
		}
		conn := harness.Connect(t, proxy.Endpoint, database)
		ask(t, conn, waitForOne).want(t, n)
	}
	if err := first.CancelRequest(harness.Context(t)); err != nil {
		t.Error(err)
	}
	if _, err := others.answer(t); harness.SQLState(err) != "57014" {
		t.Error(err)
	}
}
