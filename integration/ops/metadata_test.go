package ops

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

// What a member of mbus4_admin writes to the tables of queues and consumers itself, past the
// functions and the proxies, is in force for the next statement of every session, prepared ones
// included.
func TestMetadataWrittenDirectly(t *testing.T) {
	t.Parallel()
	second := harness.NewProxy(t)
	database := harness.NewQueueDatabase(t, "q")
	one, two := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, second.Endpoint, database)
	direct := harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, direct, "set role mbus4_admin")
	for _, prepare := range []string{
		"prepare post as select mbus4.post('q', 'a=>1', iid => $1)", "prepare consume as select iid from mbus4.consume('q')",
		"prepare audit as select iid from mbus4.consumen('q', 'audit', 9)",
	} {
		harness.Ask(t, one, prepare)
	}
	// More than five times: the server then has a generic plan.
	for range 7 {
		harness.Want(t, one, "m0", "execute post('m0')")
		harness.Want(t, one, "m0", "execute consume")
	}

	harness.Ask(t, direct, "insert into mbus4.consumer (queue_id, qname, name) select id, qname, 'audit' from mbus4.queue where qname = 'q'")
	harness.Want(t, one, "m1", "execute post('m1')")
	harness.Want(t, one, "m1", "execute audit")
	harness.Want(t, two, "m1", "select iid from mbus4.consume('q')")

	// A selector that another consumer has, with the columns that belong to it.
	harness.Ask(t, two, "select mbus4.create_consumer('q', 'picky', selector => $1)", "t.data->'a' = '2'")
	harness.Ask(t, direct, `update mbus4.consumer c set selector = p.selector, selector_id = p.selector_id, asks_headers = p.asks_headers,
		asks_properties = p.asks_properties, asks_data = p.asks_data from mbus4.consumer p where c.name = 'audit' and p.name = 'picky'`)
	harness.Want(t, one, "m2", "execute post('m2')")
	harness.Want(t, one, "", "execute audit")
	harness.Want(t, one, "m2", "execute consume")

	harness.Ask(t, direct, "delete from mbus4.consumer where name = 'audit'")
	harness.Refused(t, one, "42704", "execute audit")
	harness.Ask(t, direct, "insert into mbus4.consumer (queue_id, qname, name, target) select id, qname, 'TRIGGER dmq', 'dmq' from mbus4.queue where qname = 'q'")
	harness.Want(t, one, "m3", "execute post('m3')")
	harness.Want(t, two, "1", "select count(*) from mbus4.consumen('dmq', amt => 9)")
	harness.Ask(t, direct, "delete from mbus4.queue where qname = 'q'")
	harness.Refused(t, one, "42704", "execute post('m4')")
	harness.Refused(t, two, "42704", "select mbus4.post('q', 'a=>1')")

	// The texts of selectors are code that runs in everybody's statements: only the schema's owner writes them.
	harness.Refused(t, direct, "42501", "update mbus4.selector set condition = '1'")
	harness.Refused(t, direct, "42501", "insert into mbus4.selector select * from mbus4.selector")

	// The views of legacy tables are for reading, whoever asks.
	harness.Ask(t, direct, "reset role")
	for _, change := range []string{"delete from mbus4.trigger", "update mbus4.dmq set iid = 'x'", "insert into mbus4.trigger values ('a', 'b', null)"} {
		harness.Refused(t, direct, "55000", change)
	}
}
