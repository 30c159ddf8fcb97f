package calls

import (
	"fmt"
	"testing"
	"time"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// clear_queue_<q> removes what expired, for all consumers, and nothing else: what somebody holds is
// left, and so are other queues and dmq.
func TestClearQueue(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		other := harness.Connect(t, harness.Proxied(), s.Database)
		s.Want(t, "", "select mbus4.create_consumer('q', 'c')")
		// One transaction, for the sweeper removes what it sees.
		s.Want(t, "", "begin")
		for _, m := range [][]any{{"q", "old", "2001-01-01"}, {"q", "new", "2999-01-01"}, {"q", "ever", nil}, {"r", "elsewhere", "2001-01-01"}, {"dmq", "dead", "2001-01-01"}} {
			s.Want(t, fmt.Sprint(m[1]), "select mbus4.post($1, 'a=>1', iid => $2, expires => $3)", m...)
		}
		left := "select string_agg(iid, ' ' order by iid, consumer_id) from mbus4.message"
		s.Want(t, "dead elsewhere ever ever new new old old", left)
		s.Want(t, "", "select mbus4.clear_queue_q()")
		s.Want(t, "dead elsewhere ever ever new new", left)
		s.Want(t, "", "select mbus4.clear_queue_dmq()")
		s.Want(t, "", "select mbus4.clear_queue_r()")
		s.Want(t, "dead ever ever new new", left)
		s.Want(t, "", "rollback")
		s.Want(t, "∅", left)

		// It does not wait for who holds a message.
		s.Want(t, "soon", "select mbus4.post('q', 'a=>1', iid => 'soon', expires => (now() + '1 s')::timestamp)")
		harness.Want(t, other, "soon", "begin; select iid from mbus4.consume('q')")
		harness.Await(t, s.Conn, 20*time.Second, "select clock_timestamp() > expires from mbus4.message where iid = 'soon' union all select true limit 1")
		s.Want(t, "", "select mbus4.clear_queue_q()")
		harness.Ask(t, other, "rollback")
		s.Want(t, "", "select iid from mbus4.consumen('q', amt => 9)")
		s.Want(t, "", "select mbus4.clear_queue_q()")
		s.Want(t, "f", "select mbus4.peek_q()")
	})
}

// dmq is a queue: post, look, consume, take; but its messages are not removed when they expire, only
// not delivered, and it has one consumer for good.
func TestDMQ(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "a", "select mbus4.post('dmq', 'n=>1', iid => 'a')")
		s.Want(t, "b", "select mbus4.post_dmq('n=>2', iid => 'b')")
		s.Want(t, "c", "select mbus4.post('dmq', 'n=>3', iid => 'c')")
		s.Want(t, "old", "select mbus4.post('dmq', 'n=>4', iid => 'old', expires => '2001-01-01')")
		s.Want(t, "late", "select mbus4.post('dmq', 'n=>5', iid => 'late', delayed_until => '2999-01-01')")
		s.Want(t, "t|t|f|f", "select mbus4.peek_dmq(), mbus4.peek_dmq('a'), mbus4.peek_dmq('x'), mbus4.is_msg_exists('old')")
		s.Want(t, "a|1|dmq", "select iid, data->'n', headers->'destination' from mbus4.consume('dmq')")
		s.Want(t, "b", "select iid from mbus4.take($1)", "b")
		s.Want(t, "c", "select iid from mbus4.take_from_dmq_by_default($1)", "c")
		s.Want(t, "", "select iid from mbus4.consumen_dmq_by_default(9)")
		s.Want(t, "late", "select iid from mbus4.peek('late')")
		s.Want(t, "", "select mbus4.clear_queue_dmq()")
		s.Want(t, "∅", "select iid from mbus4.take($1)", "old")
		s.Want(t, "late old", "select string_agg(iid, ' ' order by iid) from mbus4.message")

		s.Refused(t, "42809", "select mbus4.drop_queue('dmq')")
		s.Refused(t, "42809", "select mbus4.create_consumer('dmq', 'second')")
		s.Refused(t, "42809", "select mbus4.drop_consumer('dmq', 'default')")
		s.Refused(t, "42602", "select mbus4.create_queue('dmq', 1)")
		s.Refused(t, "42704", "select * from mbus4.consume('dmq', 'second')")
	})
}

// What lies in dmq blocks those that wait for it, in whatever queue; consuming from dmq itself ignores
// the order.
func TestDMQOrder(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		after := "select mbus4.post($1, '', $2, iid => $3)"
		s.Want(t, "bad", "select mbus4.post('q', 'n=>1', iid => 'bad')")
		s.Want(t, "waits", after, "r", `"consume_after"=>"{bad}"`, "waits")
		s.Want(t, "last", after, "dmq", `"consume_after"=>"{bad,waits}"`, "last")
		s.Want(t, "", "begin")
		s.Want(t, "bad", "select mbus4.post('dmq', data, headers, iid => iid) from mbus4.consume('q')")
		s.Want(t, "", "commit")
		s.Want(t, "t", "select mbus4.is_msg_exists('bad')")
		s.Want(t, "", "select iid from mbus4.consumen('r', amt => 9)")
		s.Want(t, "last", "select iid from mbus4.take_from_dmq_by_default('last')")
		s.Want(t, "last", after, "dmq", `"consume_after"=>"{bad,waits}"`, "last")
		// Back from there to where it came from, it still blocks.
		s.Want(t, "bad", "select mbus4.post('q', data, headers, iid => iid) from mbus4.take('bad')")
		s.Want(t, "last", "select iid from mbus4.consume('dmq')")
		s.Want(t, "", "select iid from mbus4.consumen('r', amt => 9)")
		s.Want(t, "bad", "select iid from mbus4.consume('q')")
		harness.Await(t, s.Conn, 20*time.Second, "select exists (select from mbus4.consume('r'))")
	})
}
