package security

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

// hoardMemory is what a proxy may take while services of the engine come by texts that a client has
// made as large as it can.
const hoardMemory = 192 << 20

// TestHugeTextsInTables writes what mbus4_user may write past the functions, where the engine's
// services read it over their own connection: none of it makes the proxy hold much.
func TestHugeTextsInTables(t *testing.T) {
	for _, c := range []struct{ name, write, done string }{
		{
			"cron of a schedule",
			`insert into mbus4.schedule (name, cron, timezone, qname) select 's' || n, repeat('* ', 12000000), repeat('Z', 20000000), 'q' from generate_series(1, 5) n`,
			`select count(*) = 5 from mbus4.schedules where last_error like '%refused%' or last_error like '%not known%'`,
		},
		{
			// An index holds a text of 200,000 bytes where it can be compressed.
			"iids that are waited for",
			`insert into mbus4.waiting (dep, consumer_id, id) select repeat('a', 200000) || n, 7, n from generate_series(1, 1000) n`,
			`select count(*) < 1000 from mbus4.waiting`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			proxy := harness.NewPlainProxy(t)
			database, user := harness.NewQueueDatabaseAt(t, proxy.Endpoint, "q"), harness.NewRole(t)
			harness.Admin(t, "grant mbus4_user to "+user)
			peak := proxy.Peak(t, func() {
				conn := harness.ConnectAs(t, harness.Direct(), database, user)
				harness.Ask(t, conn, c.write)
				harness.Await(t, conn, c.done) // seconds, on a machine with nothing else to do
				used := harness.Connect(t, proxy.Endpoint, database)
				harness.Ask(t, used, "select mbus4.peek_q()")
			})
			t.Logf("RSS %d MiB at most", peak>>20)
			if peak > hoardMemory {
				t.Errorf("the proxy takes %d MiB", peak>>20)
			}
		})
	}
}
