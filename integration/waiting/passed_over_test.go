package waiting

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

// A call with a selector finds what can be delivered behind more messages of others than it reads
// at once, and does not wait for these.
func TestWaitBehindManyHeld(t *testing.T) {
	t.Parallel()
	proxy, database := unswept(t), harness.NewQueueDatabase(t, "q")
	holder, conn := harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database)
	harness.Ask(t, holder, `select count(mbus4.post('q', hstore('n', n::text))) from generate_series(1, 202) n`)
	harness.Ask(t, holder, "begin")
	harness.Want(t, holder, "200", `select count(*) from mbus4.consumen('q', amt => 200)`)
	a := ask(t, conn, `select data->'n' from mbus4.dyn_consume('q', $$(t.data->'n')::int > 0$$, wait => '1h')`)
	a.want(t, "201")
	a = ask(t, conn, `select data->'n' from mbus4.dyn_consume('q', $$(t.data->'n')::int > 0$$, wait => '1h')`)
	a.want(t, "202")
	harness.Ask(t, holder, "rollback")
}

// A call that waits for a lease is not answered with nothing because a message whose attempts are
// used up came before it: that goes to dmq, and the call waits on.
func TestWaitForLeaseBehindSpent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ begin, end string }{
		"alone": {}, "in a block": {"begin", "commit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, database := unswept(t), harness.NewQueueDatabase(t, "q")
			direct, other, conn := harness.Connect(t, harness.Direct(), database), harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database)
			harness.Ask(t, other, `select mbus4.alter_consumer('q', max_attempts => 1)`)
			for _, when := range []struct{ iid, lease string }{
				{"spent before", "1 ms"},   // there when the call comes
				{"spent meanwhile", "1 s"}, // the call waits when the lease ends
			} {
				harness.Ask(t, other, `select mbus4.post('q', 'n=>1', iid => $1)`, when.iid)
				harness.Want(t, other, when.iid, `select iid from mbus4.lease('q', lease => $1)`, when.lease)
				if when.lease == "1 ms" {
					harness.Await(t, direct, `select available_at < clock_timestamp() from mbus4.message where iid = $1`, when.iid)
				}
				if c.begin != "" {
					harness.Ask(t, conn, c.begin)
				}
				a := ask(t, conn, `select data->'n' from mbus4.lease('q', wait => '1h')`)
				awaitWaiting(t, direct, conn)
				if c.begin == "" {
					harness.Await(t, direct, `select exists (select from mbus4.dmq where iid = $1)`, when.iid)
				} else { // what the block has moved nobody else sees
					harness.Await(t, direct, `select available_at < clock_timestamp() from mbus4.message where iid = $1`, when.iid)
				}
				harness.Ask(t, other, `select mbus4.post('q', 'n=>2')`)
				a.want(t, "2")
				if c.end != "" {
					harness.Ask(t, conn, c.end)
				}
				harness.Want(t, direct, "lease ended", `select headers->'dmq.error' from mbus4.dmq where iid = $1`, when.iid)
			}
		})
	}
}
