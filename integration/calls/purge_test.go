package calls

import (
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

func TestFunctionPurgeQueue(t *testing.T) {
	callTable{
		queues: []string{"q", "r"},
		before: `select mbus4.create_consumer('q', 'c'); select mbus4.post(x, 'a=>1') from unnest(array['q', 'q', 'r']) x;
			select mbus4.post('q', 'a=>1', delayed_until => '2100-01-01'), mbus4.post('dmq', 'a=>1')`,
		effect: `select string_agg(concat_ws('/', c.qname, c.name), ' ' order by c.qname, c.name) from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id
			where c.qname <> 'semaphore_events'`,
		columns: "purge_queue bigint",
		cases: []callCase{
			gives("6 > dmq/default r/default", "select mbus4.purge_queue('q')"),
			gives("6 > dmq/default r/default", "select mbus4.purge_queue($1)", "Q"),
			gives("6 > dmq/default r/default", "select mbus4.purge_queue($1, $2)", "q", nil),
			gives("6 > dmq/default r/default", "select n from mbus4.purge_queue(qname => $1) n", "q"),
			gives("1 > dmq/default r/default", "select count(*) from mbus4.purge_queue('q')"), // whether it is read or not
			gives("3 > dmq/default q/default q/default q/default r/default", "select mbus4.purge_queue($1, $2)", "q", "C"),
			gives("3 > dmq/default q/c q/c q/c r/default", "select mbus4.purge_queue(cname => $2, qname => $1)", "q", "default"),
			gives("q|6\nr|1 > dmq/default", "select x, mbus4.purge_queue(x) from unnest(array['q', 'r']) x"),
			gives("1 > q/c q/c q/c q/default q/default q/default r/default", "select mbus4.purge_queue('dmq')"),
			gives(" > dmq/default q/c q/c q/c q/default q/default q/default r/default", "select mbus4.purge_queue('q') where false"),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.purge_queue($1)", "nowhere"),
			fails("42704", "queue null does not exist", "select mbus4.purge_queue($1)", nil),
			fails("42704", `queue "q" has no consumer "nobody"`, "select mbus4.purge_queue('q', $1)", "nobody"),
			fails("42883", "mbus4.purge_queue(qname text, cname text default null) returns bigint", "select mbus4.purge_queue()"),
			fails("42883", "mbus4.purge_queue(qname text", "select mbus4.purge_queue('q', 'c', 1)"),
		},
	}.run(t)
}

// What somebody holds is left to them, what waited is released, and of more rows than a batch has all go.
func TestPurgeQueue(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		other := harness.Connect(t, harness.Proxied(), s.Database)
		harness.Ask(t, other, "select count(mbus4.post('q', 'a=>1')) from generate_series(1, 2345)")
		harness.Ask(t, other, "select mbus4.post('q', 'a=>1', iid => 'first', expires => '2900-01-01')")
		s.Want(t, "waits", "select mbus4.post('r', 'a=>1', $1, iid => 'waits')", harness.WaitFor("first"))
		s.Want(t, "", "select iid from mbus4.consume('r')")
		harness.Ask(t, other, "begin; select count(*) from mbus4.consumen('q', amt => 5)")
		s.Want(t, "2341", "select mbus4.purge_queue('q')")
		s.Want(t, "0", "select mbus4.purge_queue('q')")
		harness.Await(t, s.Conn, "select mbus4.is_msg_exists('waits') and available_at < 'infinity' from mbus4.message where iid = 'waits'")
		s.Want(t, "waits", "select iid from mbus4.consume('r')")
		harness.Ask(t, other, "rollback")
		s.Want(t, "5", "select count(*) from mbus4.consumen('q', amt => 9)")

		// It sees what its own transaction has posted, and rolling back brings all of it again.
		s.Want(t, "", "begin")
		s.Want(t, "m", "select mbus4.post('q', 'a=>1', iid => 'm')")
		s.Want(t, "1", "select mbus4.purge_queue('q')")
		s.Want(t, "", "rollback")
		s.Want(t, "", "begin")
		s.Want(t, "m", "select mbus4.post('q', 'a=>1', iid => 'm')")
		s.Want(t, "", "commit")
		s.Want(t, "", "begin")
		s.Want(t, "1", "select mbus4.purge_queue('q')")
		s.Want(t, "", "rollback")
		s.Want(t, "m", "select iid from mbus4.consume('q')")
	})
}
