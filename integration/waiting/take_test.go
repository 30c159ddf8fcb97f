package waiting

import (
	"testing"
	"time"

	"mbusproxy/integration/internal/harness"
)

const takeOne = `select (mbus4.take('m', wait => '1h')).data->'n'`

// A call that waits for one message has it as soon as it can be delivered to all who still have it,
// whatever kept it from that.
func TestWaitForMessage(t *testing.T) {
	t.Parallel()
	proxy := unswept(t)
	for name, c := range map[string]struct {
		before []string // in a session of its own, which goes on with then
		sql    string
		args   []any
		then   []string
	}{
		"not there yet":    {sql: takeOne, then: []string{`select mbus4.post('q', 'n=>1', iid => 'm')`}},
		"in a row":         {sql: `select data->'n' from mbus4.take('m', '1h'::interval)`, then: []string{`select mbus4.post('q', 'n=>1', iid => 'm')`}},
		"parameters":       {sql: `select (mbus4.take($1, wait => $2)).data->'n'`, args: []any{"m", "1h"}, then: []string{`select mbus4.post('q', 'n=>1', iid => 'm')`}},
		"of one consumer":  {sql: `select (mbus4.take_from_q_by_default('m', wait => '1h')).data->'n'`, then: []string{`select mbus4.post('r', 'n=>2', iid => 'm')`, `select mbus4.post('q', 'n=>1', iid => 'm')`}},
		"through a block":  {sql: takeOne, then: []string{"begin", `select mbus4.post('q', 'n=>1', iid => 'm')`, "select 1", "commit"}},
		"delayed":          {before: []string{`select mbus4.post('q', 'n=>1', iid => 'm', delayed_until => localtimestamp + interval '1 second')`}, sql: takeOne},
		"leased":           {before: []string{`select mbus4.post('q', 'n=>1', iid => 'm')`, `select lease from mbus4.lease('q', lease => '1 second')`}, sql: takeOne},
		"a lease is ended": {before: []string{`select mbus4.post('q', 'n=>1', iid => 'm')`, `create temporary table had as select lease from mbus4.lease('q', lease => '1 hour')`}, sql: takeOne, then: []string{`select mbus4.retry(lease, delay => '0') from had`}},
		"paused":           {before: []string{`select mbus4.post('q', 'n=>1', iid => 'm')`, `select mbus4.pause_queue('q')`}, sql: takeOne, then: []string{`select mbus4.resume_queue('q')`}},
		"behind another":   {before: []string{`select mbus4.post('q', 'n=>0', iid => 'first')`, `select mbus4.post('q', 'n=>1', '"consume_after"=>"{first}"', iid => 'm')`}, sql: takeOne, then: []string{`select mbus4.take('first')`}},
		"held":             {before: []string{`select mbus4.post('q', 'n=>1', iid => 'm')`, "begin", `select 1 from mbus4.consume('q')`}, sql: takeOne, then: []string{"rollback"}},
		"held for one": {
			before: []string{`select mbus4.create_consumer('q', 'c')`, `select mbus4.post('q', 'n=>1', iid => 'm')`, "begin", `select 1 from mbus4.consume('q', 'c')`},
			sql:    takeOne, then: []string{"commit"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t, "q", "r")
			direct, other, waiter := harness.Connect(t, harness.Direct(), database), harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database)
			for _, sql := range c.before {
				harness.Ask(t, other, sql)
			}
			a := ask(t, waiter, c.sql, c.args...)
			awaitWaiting(t, direct, waiter)
			for _, sql := range c.then {
				select {
				case <-a.done:
					t.Fatalf("answered with %q, %v before %s", a.got, a.err, sql)
				default:
				}
				harness.Ask(t, other, sql)
			}
			a.want(t, "1")
			harness.Want(t, direct, "0", `select count(*) from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id where c.qname = 'q'`)
		})
	}
}

// An iid that says where the message stands is waited for as one that was posted with it.
func TestWaitForMessageByPlace(t *testing.T) {
	t.Parallel()
	proxy, database := unswept(t), harness.NewQueueDatabase(t, "q")
	direct, other, waiter := harness.Connect(t, harness.Direct(), database), harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database)
	iid := harness.Ask(t, other, `select mbus4.post('q', 'n=>1')`)
	harness.Ask(t, other, "begin")
	harness.Want(t, other, iid, `select iid from mbus4.consume('q')`)
	a := ask(t, waiter, `select (mbus4.take($1, wait => '1h')).data->'n'`, iid)
	awaitWaiting(t, direct, waiter)
	harness.Ask(t, other, "rollback")
	a.want(t, "1")
}

// When its time is over it takes nothing: neither what cannot be delivered yet, nor does it wait
// for whoever holds it, nor does it keep a lock.
func TestWaitForMessageGivesUp(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn, other, third := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database)
	soon := func(of, iid string) {
		t.Helper()
		began := time.Now()
		harness.Want(t, conn, "∅", `select data->'n' from mbus4.take('`+iid+`', wait => '50ms')`)
		harness.Want(t, conn, "∅", `select (mbus4.take_from_q_by_default($1, wait => $2)).data->'n'`, iid, "50ms")
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: %v", of, took)
		}
	}
	soon("nothing", "m")
	harness.Ask(t, other, `select mbus4.post('q', 'n=>1', iid => 'late', delayed_until => localtimestamp + interval '1 hour')`)
	soon("delayed", "late")
	harness.Want(t, conn, "1", `select (mbus4.take('late', wait => null)).data->'n'`)
	harness.Ask(t, other, `select mbus4.post('q', 'n=>2', iid => 'late', delayed_until => localtimestamp + interval '1 hour')`)
	harness.Want(t, conn, "2", `select (mbus4.take($1, wait => $2)).data->'n'`, "late", nil)

	harness.Ask(t, other, `select mbus4.create_consumer('q', 'c')`)
	harness.Ask(t, other, `select mbus4.post('q', 'n=>3', iid => 'm')`)
	harness.Ask(t, other, "begin")
	harness.Want(t, other, "3", `select data->'n' from mbus4.consume('q', 'c')`)
	harness.Want(t, conn, "∅", `select data->'n' from mbus4.take('m', wait => '50ms')`)
	harness.Ask(t, conn, "begin")
	harness.Want(t, conn, "∅", `select data->'n' from mbus4.take('m', wait => '50ms')`)
	harness.Want(t, third, "3", `select data->'n' from mbus4.consume('q')`) // what is free is not locked
	harness.Ask(t, conn, "commit")
	harness.Ask(t, other, "rollback")
	harness.Want(t, conn, "3", `select data->'n' from mbus4.take('m', wait => '50ms')`)
	harness.Want(t, conn, "∅", `select mbus4.take(null, wait => '1h')`)
}

// One who waits for a message gets it, and no two; one that is not for him wakes nobody.
func TestWaitForMessageWakes(t *testing.T) {
	t.Parallel()
	proxy, database := unswept(t), harness.NewQueueDatabase(t, "q", "r")
	direct, other := harness.Connect(t, harness.Direct(), database), harness.Connect(t, proxy.Endpoint, database)
	var calls []*asked
	for _, iid := range []string{"a", "a", "b", "ü"} {
		conn := harness.Connect(t, proxy.Endpoint, database)
		calls = append(calls, ask(t, conn, `select (mbus4.take($1, wait => '1h')).iid`, iid))
		awaitWaiting(t, direct, conn)
	}
	conn := harness.Connect(t, proxy.Endpoint, database)
	anyOf := ask(t, conn, `select iid from mbus4.consume('q', wait => '1h')`)
	awaitWaiting(t, direct, conn)
	harness.Ask(t, other, `select mbus4.post('r', '', iid => 'ü')`)
	calls[3].want(t, "ü")
	harness.Ask(t, other, `select mbus4.post('r', '', iid => 'a', delayed_until => localtimestamp + interval '500 ms')`)
	calls[0].want(t, "a")
	harness.Ask(t, other, `select mbus4.post('r', '', iid => 'a', delayed_until => localtimestamp + interval '500 ms')`)
	calls[1].want(t, "a")
	harness.Ask(t, other, `select mbus4.post('q', '', iid => 'c')`)
	anyOf.want(t, "c")
	select {
	case <-calls[2].done:
		t.Errorf("%q, %v", calls[2].got, calls[2].err)
	default:
	}
	harness.Ask(t, other, `select mbus4.post('r', '', iid => 'b')`)
	calls[2].want(t, "b")
}

func TestWaitForMessageRefused(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	for _, c := range []struct{ code, sql string }{
		{"42704", `select mbus4.take_from_q_by_nobody('m', wait => '1s')`},
		{"22007", `select mbus4.take('m', wait => 'soon')`},
		{"0A000", `select mbus4.take('m', wait => '1s'), mbus4.take('n', wait => '1s')`},
		{"0A000", `select mbus4.take('m' || n, wait => '1s') from generate_series(1, 2) n`},
		{"0A000", `select 1; select mbus4.take('m', wait => '1s')`},
	} {
		harness.Refused(t, conn, c.code, c.sql)
	}
	harness.Ask(t, conn, "begin isolation level repeatable read")
	harness.Refused(t, conn, "25001", `select mbus4.take('m', wait => '1s')`)
	harness.Ask(t, conn, "rollback; set client_encoding = latin1")
	harness.Refused(t, conn, "0A000", "select mbus4.take('\xfc', wait => '1s')")
	harness.Refused(t, conn, "0A000", "select mbus4.consume('\xfc', wait => '1s')")
	harness.Refused(t, conn, "0A000", "select mbus4.consume('q', '\xfc', wait => '1s')")
	harness.Want(t, conn, "∅", `select (mbus4.take('m', wait => '10ms')).iid`)
	// Calls that do not wait beside others are as ever.
	harness.Ask(t, conn, "reset client_encoding")
	harness.Ask(t, conn, `select mbus4.post('q', '', iid => 'i' || n) from generate_series(1, 4) n`)
	harness.Want(t, conn, "i1|i2", `select (mbus4.take('i1')).iid, (mbus4.take('i2', wait => null)).iid`)
	harness.Want(t, conn, "i3\ni4", `select (mbus4.take('i' || n, wait => null)).iid from generate_series(3, 4) n`)
}
