package calls

import (
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// pausedEffect shows which queues and consumers are paused.
const pausedEffect = `select concat_ws(' ', (select string_agg(q.qname, ' ' order by q.qname) from mbus4.queue q where q.paused is not null),
	(select string_agg(c.qname || '/' || c.name, ' ' order by c.qname, c.name) from mbus4.consumer c where c.paused is not null))`

func TestFunctionPauseQueue(t *testing.T) {
	callTable{
		queues:  []string{"q", "r"},
		before:  "select mbus4.create_consumer('q', 'c'); select mbus4.create_trigger('q', 'r')",
		effect:  pausedEffect,
		columns: "pause_queue void",
		cases: []callCase{
			gives(" > q q/c q/default", "select mbus4.pause_queue('q')"),
			gives(" > q q/c q/default", "select mbus4.pause_queue($1)", "Q"),
			gives(" > q q/c q/default", "select mbus4.pause_queue(qname => $1, cname => $2)", "q", nil),
			gives(" > q/c", "select mbus4.pause_queue($1, $2)", "q", "C"),
			gives(" > q/default", "select mbus4.pause_queue(cname => $2, qname => $1)", "q", "default"),
			gives("\n > q r q/c q/default r/default", "select mbus4.pause_queue(x) from unnest(array['q', 'r']) x"),
			gives(" > dmq dmq/default", "select mbus4.pause_queue('dmq')"),
			gives(" > ", "select mbus4.pause_queue('q') where false"),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.pause_queue($1)", "nowhere"),
			fails("42704", "queue null does not exist", "select mbus4.pause_queue($1)", nil),
			fails("42704", `queue "q" has no consumer "nobody"`, "select mbus4.pause_queue('q', $1)", "nobody"),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.pause_queue($1, 'c')", "nowhere"),
			fails("42883", "mbus4.pause_queue(qname text, cname text default null) returns void", "select mbus4.pause_queue()"),
			fails("42883", "mbus4.pause_queue(qname text", "select mbus4.pause_queue('q', 'c', 1)"),
		},
	}.run(t)
}

func TestFunctionResumeQueue(t *testing.T) {
	callTable{
		queues:  []string{"q", "r"},
		before:  "select mbus4.create_consumer('q', 'c'); select mbus4.pause_queue('q'); select mbus4.pause_queue('r', 'default')",
		effect:  pausedEffect,
		columns: "resume_queue void",
		cases: []callCase{
			gives(" > r/default", "select mbus4.resume_queue('q')"),
			gives(" > r/default", "select mbus4.resume_queue($1, $2)", "Q", nil),
			gives(" > q q/default r/default", "select mbus4.resume_queue($1, $2)", "q", "c"),
			gives(" > q q/c q/default", "select mbus4.resume_queue(qname => $1)", "r"),
			gives("\n > ", "select mbus4.resume_queue(x) from unnest(array['q', 'r']) x"),
			gives(" > q q/c q/default r/default", "select mbus4.resume_queue('dmq')"), // is not paused
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.resume_queue($1)", "nowhere"),
			fails("42704", `queue "q" has no consumer "nobody"`, "select mbus4.resume_queue('q', $1)", "nobody"),
			fails("42883", "mbus4.resume_queue(qname text, cname text default null) returns void", "select mbus4.resume_queue()"),
		},
	}.run(t)
}

// Whoever consumes from a paused queue gets nothing, in every way, also with what was prepared
// before; posting, triggers, and the tools that name a message go on.
func TestPausedConsumersGetNothing(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q", "fed"}, func(t *testing.T, s *forms.Session) {
		ask := func(sql string) string { return harness.Ask(t, s.Conn, sql) }
		ask("select mbus4.create_trigger('q', 'fed'); select mbus4.create_consumer('q', 'c'); select mbus4.create_view('q', 'default', 'v')")
		ask("prepare one as select iid from mbus4.consume('q'); prepare dyn as select iid from mbus4.dyn_consume('q', $1)")
		post := func(iid string) { s.Want(t, iid, "select mbus4.post('q', 'a=>1', iid => $1)", iid) }
		for _, iid := range []string{"m1", "m2", "m3", "m4", "m5", "m6", "m7"} {
			post(iid)
		}
		s.Want(t, "m1", "select iid from mbus4.consume('q')")
		harness.Want(t, s.Conn, "m2", "execute one")
		harness.Want(t, s.Conn, "m3", "execute dyn('true')")
		s.Want(t, "", "select mbus4.pause_queue('q')")
		s.Want(t, "", "select mbus4.create_consumer('q', 'later')")
		post("m8")
		for _, sql := range []string{
			"select iid from mbus4.consume('q')", "select iid from mbus4.consume_q_by_c()", "select iid from mbus4.consumen('q', amt => 9)",
			"select iid from mbus4.consumen('q', amt => null)", "select iid from mbus4.consumen_q_by_default(3)", "select iid from mbus4.consume('q', 'later')",
			"select iid from mbus4.dyn_consume('q', 't.data is not null')", "select iid from mbus4.dyn_consume('q', (select 'true'))",
			"select (mbus4.consume(x)).iid from unnest(array['q', 'q']) x", "select (mbus4.consumen(x, 'c', 2)).iid from unnest(array['q', 'q']) x",
			"select (mbus4.dyn_consume(x, 'true' || left(x, 0))).iid from unnest(array['q', 'q']) x",
			"select data from v",
		} {
			s.Want(t, "", sql)
		}
		s.Want(t, "0", "select mbus4.run_on_q('select 1')")
		harness.Want(t, s.Conn, "", "execute one")
		harness.Want(t, s.Conn, "", "execute dyn('true')")
		s.Want(t, "8", "select count(*) from mbus4.consumen('fed', amt => 99)")
		s.Want(t, "t", "select mbus4.peek_q()")
		s.Want(t, "m8", "select iid from mbus4.peek('m8')")
		s.Want(t, "m7", "select iid from mbus4.take('m7')")
		s.Want(t, "m6", "select iid from mbus4.take_from_q_by_c('m6')")
		s.Want(t, "c|paused|default|paused|later|paused", "select string_agg(consumer || '|' || state, '|' order by consumer) from mbus4.why('m8')")
		s.Want(t, "t", "select bool_and(detail ~ '^since .*mbus4.resume_queue') from mbus4.why('m8')")
		s.Want(t, "fed|f\nq|t", "select queue, paused from mbus4.queues where queue in ('q', 'fed') order by 1")
		s.Want(t, "c|t\ndefault|t\nlater|t", "select consumer, paused from mbus4.consumers where queue = 'q' order by 1")

		// One of them goes on, then all.
		s.Want(t, "", "select mbus4.resume_queue('q', 'c')")
		s.Want(t, "m1", "select iid from mbus4.consume('q', 'c')")
		s.Want(t, "f", "select paused from mbus4.queues where queue = 'q'")
		s.Want(t, "", "select iid from mbus4.consume('q')")
		s.Want(t, "", "select mbus4.resume_queue('q')")
		harness.Want(t, s.Conn, "m4", "execute one")
		harness.Want(t, s.Conn, "m5", "execute dyn('true')")
		s.Want(t, "m8", "select iid from mbus4.consume('q', 'later')")
		s.Want(t, "f", "select bool_or(paused) from mbus4.consumers where queue = 'q'")
		s.Want(t, "", "select mbus4.create_consumer('q', 'last')")
		post("m9")
		s.Want(t, "m9", "select iid from mbus4.consume('q', 'last')")
	})
}
