package integration

import (
	"fmt"
	"testing"
	"time"
)

// clear_queue_<q> removes what expired, for all consumers, and nothing else: what somebody holds is
// left, and so are other queues and dmq.
func TestClearQueue(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q", "r"}, func(t *testing.T, s *session) {
		other := connect(t, proxied(), s.database)
		s.want(t, "", "select mbus4.create_consumer('q', 'c')")
		// One transaction, for the sweeper removes what it sees.
		s.want(t, "", "begin")
		for _, m := range [][]any{{"q", "old", "2001-01-01"}, {"q", "new", "2999-01-01"}, {"q", "ever", nil}, {"r", "elsewhere", "2001-01-01"}, {"dmq", "dead", "2001-01-01"}} {
			s.want(t, fmt.Sprint(m[1]), "select mbus4.post($1, 'a=>1', iid => $2, expires => $3)", m...)
		}
		left := "select string_agg(iid, ' ' order by iid, consumer_id) from mbus4.message"
		s.want(t, "dead elsewhere ever ever new new old old", left)
		s.want(t, "", "select mbus4.clear_queue_q()")
		s.want(t, "dead elsewhere ever ever new new", left)
		s.want(t, "", "select mbus4.clear_queue_dmq()")
		s.want(t, "", "select mbus4.clear_queue_r()")
		s.want(t, "dead ever ever new new", left)
		s.want(t, "", "rollback")
		s.want(t, "∅", left)

		// It does not wait for who holds a message.
		s.want(t, "soon", "select mbus4.post('q', 'a=>1', iid => 'soon', expires => (now() + '1 s')::timestamp)")
		want(t, other, "soon", "begin; select iid from mbus4.consume('q')")
		await(t, s.conn, 20*time.Second, "select clock_timestamp() > expires from mbus4.message where iid = 'soon' union all select true limit 1")
		s.want(t, "", "select mbus4.clear_queue_q()")
		ask(t, other, "rollback")
		s.want(t, "", "select iid from mbus4.consumen('q', amt => 9)")
		s.want(t, "", "select mbus4.clear_queue_q()")
		s.want(t, "f", "select mbus4.peek_q()")
	})
}

// dmq is a queue: post, look, consume, take; but its messages are not removed when they expire, only
// not delivered, and it has one consumer for good.
func TestDMQ(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *session) {
		s.want(t, "a", "select mbus4.post('dmq', 'n=>1', iid => 'a')")
		s.want(t, "b", "select mbus4.post_dmq('n=>2', iid => 'b')")
		s.want(t, "c", "select mbus4.post('dmq', 'n=>3', iid => 'c')")
		s.want(t, "old", "select mbus4.post('dmq', 'n=>4', iid => 'old', expires => '2001-01-01')")
		s.want(t, "late", "select mbus4.post('dmq', 'n=>5', iid => 'late', delayed_until => '2999-01-01')")
		s.want(t, "t|t|f|f", "select mbus4.peek_dmq(), mbus4.peek_dmq('a'), mbus4.peek_dmq('x'), mbus4.is_msg_exists('old')")
		s.want(t, "a|1|dmq", "select iid, data->'n', headers->'destination' from mbus4.consume('dmq')")
		s.want(t, "b", "select iid from mbus4.take($1)", "b")
		s.want(t, "c", "select iid from mbus4.take_from_dmq_by_default($1)", "c")
		s.want(t, "", "select iid from mbus4.consumen_dmq_by_default(9)")
		s.want(t, "late", "select iid from mbus4.peek('late')")
		s.want(t, "", "select mbus4.clear_queue_dmq()")
		s.want(t, "∅", "select iid from mbus4.take($1)", "old")
		s.want(t, "late old", "select string_agg(iid, ' ' order by iid) from mbus4.message")

		s.refused(t, "42809", "select mbus4.drop_queue('dmq')")
		s.refused(t, "42809", "select mbus4.create_consumer('dmq', 'second')")
		s.refused(t, "42809", "select mbus4.drop_consumer('dmq', 'default')")
		s.refused(t, "42602", "select mbus4.create_queue('dmq', 1)")
		s.refused(t, "42704", "select * from mbus4.consume('dmq', 'second')")
	})
}

// What lies in dmq blocks those that wait for it, in whatever queue; consuming from dmq itself ignores
// the order.
func TestDMQOrder(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q", "r"}, func(t *testing.T, s *session) {
		after := "select mbus4.post($1, '', $2, iid => $3)"
		s.want(t, "bad", "select mbus4.post('q', 'n=>1', iid => 'bad')")
		s.want(t, "waits", after, "r", `"consume_after"=>"{bad}"`, "waits")
		s.want(t, "last", after, "dmq", `"consume_after"=>"{bad,waits}"`, "last")
		s.want(t, "", "begin")
		s.want(t, "bad", "select mbus4.post('dmq', data, headers, iid => iid) from mbus4.consume('q')")
		s.want(t, "", "commit")
		s.want(t, "t", "select mbus4.is_msg_exists('bad')")
		s.want(t, "", "select iid from mbus4.consumen('r', amt => 9)")
		s.want(t, "last", "select iid from mbus4.take_from_dmq_by_default('last')")
		s.want(t, "last", after, "dmq", `"consume_after"=>"{bad,waits}"`, "last")
		// Back from there to where it came from, it still blocks.
		s.want(t, "bad", "select mbus4.post('q', data, headers, iid => iid) from mbus4.take('bad')")
		s.want(t, "last", "select iid from mbus4.consume('dmq')")
		s.want(t, "", "select iid from mbus4.consumen('r', amt => 9)")
		s.want(t, "bad", "select iid from mbus4.consume('q')")
		await(t, s.conn, 20*time.Second, "select exists (select from mbus4.consume('r'))")
	})
}
