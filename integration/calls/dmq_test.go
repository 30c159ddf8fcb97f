package calls

import (
	"fmt"
	"testing"

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
		held := ""
		for _, life := range []string{"1 s", "10 s", "60 s"} { // as long as a busy machine takes to consume it
			s.Want(t, "soon", "select mbus4.post('q', 'a=>1', iid => 'soon', expires => (now() + $1)::timestamp)", life)
			if held = harness.Ask(t, other, "begin; select iid from mbus4.consume('q')"); held == "soon" {
				break
			}
			harness.Ask(t, other, "rollback")
			harness.Await(t, s.Conn, "select not exists (select from mbus4.message where iid = 'soon')") // the sweeper does it
		}
		if held != "soon" {
			t.Fatal("nobody holds the message")
		}
		harness.Await(t, s.Conn, "select clock_timestamp() > expires from mbus4.message where iid = 'soon' union all select true limit 1")
		s.Want(t, "", "select mbus4.clear_queue_q()")
		harness.Ask(t, other, "rollback")
		s.Want(t, "", "select iid from mbus4.consumen('q', amt => 9)")
		s.Want(t, "", "select mbus4.clear_queue_q()")
		s.Want(t, "f", "select mbus4.peek_q()")
	})
}

// dmq is a queue: post, look, consume, take; but its messages stay until somebody gets them, and it
// has one consumer for good.
func TestDMQ(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "a", "select mbus4.post('dmq', 'n=>1', iid => 'a')")
		s.Want(t, "b", "select mbus4.post_dmq('n=>2', iid => 'b')")
		s.Want(t, "c", "select mbus4.post('dmq', 'n=>3', iid => 'c')")
		s.Want(t, "t|t|f|f", "select mbus4.peek_dmq(), mbus4.peek_dmq('a'), mbus4.peek_dmq('x'), mbus4.is_msg_exists('old')")
		s.Want(t, "a|1|dmq", "select iid, data->'n', headers->'destination' from mbus4.consume('dmq')")
		s.Want(t, "b", "select iid from mbus4.take($1)", "b")
		s.Want(t, "c", "select iid from mbus4.take_from_dmq_by_default($1)", "c")
		s.Want(t, "", "select iid from mbus4.consumen_dmq_by_default(9)")

		s.Refused(t, "42809", "select mbus4.drop_queue('dmq')")
		s.Refused(t, "42809", "select mbus4.create_consumer('dmq', 'second')")
		s.Refused(t, "42809", "select mbus4.drop_consumer('dmq', 'default')")
		s.Refused(t, "42602", "select mbus4.create_queue('dmq', 1)")
		s.Refused(t, "42704", "select * from mbus4.consume('dmq', 'second')")
	})
}

// Neither expires nor delayed_until hides what lies in dmq, and nothing removes it but who gets it. It comes first in,
// first out, and shows the times that it was given.
func TestDMQKeeps(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		const old, late = "2001-01-01 00:00:00", "2999-01-01 00:00:00"
		want := "1|∅|∅\n2|∅|" + old + "\n3|" + late + "|∅\n4|" + late + "|" + old + "\n5|∅|" + late + "\n6|" + old + "|" + old + "\n7|infinity|-infinity"
		fill := func() {
			t.Helper()
			for i, m := range [][]any{{nil, nil}, {nil, old}, {late, nil}, {late, old}, {nil, late}, {old, old}, {"infinity", "-infinity"}} {
				iid := fmt.Sprint("m", i+1)
				if i%2 == 0 {
					s.Want(t, iid, "select mbus4.post('dmq', hstore('n', $1), delayed_until => $2, expires => $3, iid => $4)", i+1, m[0], m[1], iid)
				} else { // under an iid that says where it lies
					s.Want(t, "t", "select mbus4.post_dmq(hstore('n', $1), delayed_until => $2, expires => $3) is not null", i+1, m[0], m[1])
				}
			}
		}
		const shown = "select data->'n', case when delayed_until <> added then delayed_until end, expires from "
		for _, reading := range []string{
			"mbus4.consumen('dmq', amt => 9)",
			"mbus4.consumen_dmq_by_default(9)",
			"(select (mbus4.consume('dmq')).* from generate_series(1, 9)) x",
			"(select (mbus4.dyn_consume('dmq', 'true')).* from generate_series(1, 9)) x",
			"mbus4.dmq where mbus4.is_msg_exists(iid) order by data->'n'",
			"(select (mbus4.peek(iid)).* from mbus4.dmq) x order by data->'n'",
			"(select (mbus4.take(iid)).* from mbus4.dmq) x order by data->'n'",
			"(select (mbus4.take_from_dmq_by_default(iid)).* from mbus4.dmq) x order by data->'n'",
		} {
			s.Want(t, "", "begin")
			fill()
			s.Want(t, "", "select mbus4.clear_queue_dmq()")
			if got := harness.Ask(t, s.Conn, shown+reading); got != want {
				t.Errorf("%s:\n got %q\nwant %q", reading, got, want)
			}
			s.Want(t, "", "rollback")
		}
		fill()
		for i := 1; i <= 7; i++ {
			s.Want(t, "t|t", "select mbus4.peek_dmq(), mbus4.peek_dmq(iid) from mbus4.dmq where data->'n' = $1", i)
			switch i {
			case 1, 5:
				s.Want(t, fmt.Sprint(i), "select data->'n' from mbus4.consume('dmq')")
			case 2:
				s.Want(t, fmt.Sprint(i), "select data->'n' from mbus4.dyn_consume('dmq', $1)", "t.data ? 'n'")
			case 3:
				s.Want(t, fmt.Sprint(i), "select data->'n' from mbus4.dyn_consume('dmq', $1)", "t.delayed_until > '2900-01-01' and expires is null")
			case 4:
				s.Want(t, fmt.Sprint(i), "select data->'n' from mbus4.dyn_consume('dmq', 't.expires < ''2900-01-01''')")
			default:
				s.Want(t, fmt.Sprint(i), "select data->'n' from mbus4.consume_dmq_by_default()")
			}
		}

		// Its iid stays taken, and what waits for it waits on, until it is got.
		s.Want(t, "old", "select mbus4.post('dmq', '', expires => $1, iid => 'old')", old)
		s.Refused(t, "23505", "select mbus4.post('dmq', '', iid => 'old')")
		s.Want(t, "waits", "select mbus4.post('q', 'n=>1', 'consume_after=>{old}', iid => 'waits')")
		placed := harness.Ask(t, s.Conn, "select mbus4.post_dmq('', expires => $1)", old)
		s.Want(t, "too", "select mbus4.post('q', 'n=>2', $1, iid => 'too')", harness.WaitFor("waits", placed))
		s.Want(t, "", "select iid from mbus4.consumen('q', amt => 9)")
		s.Want(t, "", "select iid from mbus4.dyn_consume('q', $1)", "true")
		s.Want(t, "old", "select iid from mbus4.take('old')")
		s.Want(t, "waits", "select iid from mbus4.consume('q')")
		s.Want(t, "", "select iid from mbus4.consume('q')")
		s.Want(t, "t", "select iid = $1 from mbus4.consume('dmq')", placed)
		// Where the releaser has the message in hand just now, it wakes it.
		harness.Await(t, s.Conn, "select available_at <= clock_timestamp() from mbus4.message where iid = 'too'")
		s.Want(t, "too", "select iid from mbus4.consume('q')")

		// Copies that triggers make there are no different.
		s.Want(t, "", "select mbus4.create_trigger('q', 'dmq')")
		s.Want(t, "t", "select mbus4.post('q', 'n=>3', expires => $1) is not null", old)
		s.Want(t, "t", "select mbus4.post('q', 'n=>4', 'h=>1', delayed_until => $1) is not null", late)
		s.Want(t, "3|∅|"+old+"\n4|"+late+"|∅", shown+"mbus4.consumen('dmq', amt => 9)")
	})
}

// What passes through dmq keeps its headers, the queue where it was consumed among them, so it can be posted back.
func TestDMQHeaders(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "a", "select mbus4.post('q', 'n=>1', 'own=>h', iid => 'a')")
		there := harness.Ask(t, s.Conn, "select headers || 'destination=>q' from mbus4.peek('a')")
		for _, back := range []string{
			"mbus4.consume('dmq')",
			"mbus4.consume_dmq_by_default()",
			"mbus4.take('a')",
			"mbus4.take_from_dmq_by_default('a')",
			"mbus4.dyn_consume('dmq', 'true')",
			"(select (mbus4.consume(x)).* from unnest(array['dmq']) x) m",
			"(select (mbus4.dyn_consume(x, y)).* from (values ('dmq', $$t.headers->'destination' = 'q'$$)) v (x, y)) m",
		} {
			for _, pass := range []string{
				"select mbus4.post('dmq', data, headers, iid => iid) from mbus4.consume('q')",
				"select mbus4.post_dmq(data, headers, iid => iid) from mbus4.consume_q_by_default()",
			} {
				s.Want(t, "", "begin")
				s.Want(t, "a", pass)
				for _, seen := range []string{"mbus4.peek('a')", "mbus4.dmq", back} {
					s.Want(t, there, "select headers from "+seen)
				}
				s.Want(t, "", "rollback")
			}
			s.Want(t, "", "begin")
			s.Want(t, "a", "select mbus4.post_dmq(data, headers, iid => iid) from mbus4.consume('q')")
			s.Want(t, "a", "select mbus4.post(headers->'destination', data, headers, properties, delayed_until, expires, iid) from "+back)
			s.Want(t, "q|h|{"+s.Database+","+s.Database+"}", "select headers->'destination', headers->'own', headers->'seenby' from mbus4.consume('q')")
			s.Want(t, "", "rollback")
		}

		// What was posted there without says where it lies.
		for _, post := range []string{"'n=>1'", "'n=>1', 'h=>1'"} {
			s.Want(t, "t", "select mbus4.post_dmq("+post+") is not null")
			s.Want(t, "dmq|dmq", "select headers->'destination', headers->'destination_queue' from mbus4.consume('dmq')")
		}
		s.Want(t, "t", "select mbus4.post_dmq('', 'destination=>anywhere') is not null")
		s.Want(t, "t", "select mbus4.post_dmq('', 'destination=>null') is not null")
		s.Want(t, "anywhere\n∅", "select headers->'destination' from mbus4.consumen('dmq', amt => 2)")
		// In other queues it is theirs.
		s.Want(t, "b", "select mbus4.post('q', '', 'destination=>anywhere', iid => 'b')")
		s.Want(t, "a|q\nb|q", "select iid, headers->'destination' from mbus4.consumen('q', amt => 2)")
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
		harness.Await(t, s.Conn, "select exists (select from mbus4.consume('r'))")
	})
}
