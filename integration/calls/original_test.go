package calls

import (
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// The parameters of the original bus have its names, its order and its defaults, in named notation as well.
func TestParameterNamesOfTheOriginal(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, nil, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_queue(qname => 'q', consumers_cnt => 1)")
		s.Want(t, "", "select mbus4.create_queue(qname => 'r', consumers_cnt => 1)")
		s.Want(t, "", "select mbus4.create_consumer(cname => 'c', qname => 'q', p_selector => 't.iid <> ''x''', noindex => false)")
		s.Want(t, "", "select mbus4.create_consumer('d', 'q', null, false)")
		s.Want(t, "", "select mbus4.create_run_function(qname => 'q')")
		s.Want(t, "", "select mbus4.create_view(qname => 'q', cname => 'c', viewname => 'v')")
		s.Want(t, "", "select mbus4.create_trigger(src => 'q', dst => 'r', selector => null)")
		s.Want(t, "", "select mbus4.drop_trigger(src => 'q', dst => 'r')")
		s.Want(t, "q.x", `select mbus4.post(qname => 'q', data => 'n=>1', headers => null, properties => null,
			delayed_until => null, expires => null, iid => 'q.x')`)
		s.Want(t, "q.y", "select mbus4.post_q(data => 'n=>2', headers => null, properties => null, delayed_until => null, expires => null, iid => 'q.y')")
		s.Want(t, "dmq.x", "select mbus4.post_dmq(data => 'n=>3', headers => null, properties => null, delayed_until => null, expires => null, iid => 'dmq.x')")
		s.Want(t, "t|t|q.x", "select mbus4.peek_q(msgid => 'q.x'), mbus4.is_msg_exists(msgiid => 'q.x'), (mbus4.peek(msgiid => 'q.x')).iid")
		s.Want(t, "q.x", "select iid from mbus4.consume(qname => 'q', cname => 'c')")
		s.Want(t, "q.y", "select iid from mbus4.consumen_q_by_c(amt => 9)")
		s.Want(t, "q.x", "select iid from mbus4.take_from_q_by_d(msgid => 'q.x')")
		s.Want(t, "q.y", "select iid from mbus4.dyn_consume(qname => 'q', selector => 't.iid = ''q.y''', cname => 'd')")
		s.Want(t, "q.x", "select iid from mbus4.take(msgiid => $1)", "q.x")
		s.Want(t, "dmq.x", "select iid from mbus4.consume_dmq()")
		s.Want(t, "1", "select mbus4.run_on_q(exec => 'select 1')")
		s.Want(t, "t", "select mbus4.generate_new_msgiid(qname => 'q') like 'q.%'")
		temporary := harness.Ask(t, s.Conn, "select mbus4.create_temporary_consumer(cname => 'q', p_selector => 't.iid = ''q.z''')")
		s.Want(t, "q.z", "select mbus4.post('q', 'n=>4', iid => 'q.z')")
		s.Want(t, "t", "select mbus4.post_temp(tqname => $1, data => 'n=>5', headers => null, properties => null, delayed_until => null, expires => null) <> ''", temporary)
		s.Want(t, "4", "select data->'n' from mbus4.consume_temp(tqname => $1)", temporary)
		s.Want(t, "5", "select data->'n' from mbus4.consume_temp($1)", temporary)
		s.Want(t, "", "select mbus4.drop_consumer(cname => 'c', qname => 'q')")
		s.Want(t, "", "select mbus4.drop_queue(qname => 'q')")
		for _, sql := range []string{
			"select mbus4.consume_dmq('dmq')", "select mbus4.consume_temp('temp.x', 'default')", "select mbus4.consume_temp()",
			"select mbus4.take(msgid => 'x', msgiid => 'x')", "select mbus4.create_temporary_consumer(qname => 'q', cname => 'q')",
		} {
			s.Refused(t, "42883", sql)
		}
	})
}

// consume_dmq and consume_temp are served wherever consume is.
func TestConsumeByOtherNames(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		temporary := harness.Ask(t, s.Conn, "select mbus4.create_temporary_queue()")
		harness.Ask(t, s.Conn, "create table one (queue text); insert into one values ('"+temporary+"')")
		harness.Ask(t, s.Conn, "select mbus4.post('dmq', hstore('n', n::text)), mbus4.post_temp('"+temporary+"', hstore('n', n::text)) from generate_series(1, 9) n")
		s.Want(t, "1|1", "select (mbus4.consume_dmq()).data->'n', (mbus4.consume_temp($1)).data->'n'", temporary)
		s.Want(t, "2", "select c.data->'n' from one, mbus4.consume_temp(one.queue) c")
		s.Want(t, "2", "select c.data->'n' from one, lateral mbus4.consume_dmq() c")
		s.Want(t, "1", "select 1 where (select data->'n' from mbus4.consume_temp($1)) = '3'", temporary)
		s.Want(t, "3\n4", "select (mbus4.consume_dmq()).data->'n' from generate_series(1, 2)")
		s.Want(t, "", "select 1 from one where exists (select from mbus4.consume_dmq() where false)")
		s.Want(t, "5", "select consume_dmq.data->'n' from mbus4.consume_dmq()")
	})
}

// An iid can be had for any queue, whether it exists or not, and be posted under later.
func TestIIDWithoutAQueue(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		for _, call := range []string{"generate_new_msgiid", "get_iid"} {
			s.Want(t, "t|t", "select i ~ ('^anything\\.' || current_database() || '\\.\\d+$'), i <> mbus4."+call+"('anything') from mbus4."+call+"('Anything') i")
			s.Want(t, harness.Null, "select mbus4."+call+"($1)", nil)
			s.Want(t, harness.Null, "select mbus4."+call+"(null)")
			s.Want(t, "t", "select mbus4."+call+"('') ~ ('^\\.' || current_database() || '\\.\\d+$')")
			s.Want(t, "t", "select bool_and(mbus4."+call+"(x) like x || '.%') from unnest(array['q', 'nowhere', 'ä b']) x")
			// The iid is one like any other: nothing has it, it can be waited for, and it is posted under.
			iid := harness.Ask(t, s.Conn, "select mbus4."+call+"('later')")
			s.Want(t, "f|∅", "select mbus4.is_msg_exists($1), (mbus4.take($1)).iid", iid)
			s.Refused(t, "42704", "select mbus4.post('later', 'a=>1', iid => $1)", iid)
			s.Want(t, "", "select mbus4.create_queue('later', 1)")
			s.Want(t, iid, "select mbus4.post('later', 'a=>1', iid => $1)", iid)
			s.Want(t, "t", "select mbus4.post('q', 'a=>1', hstore('consume_after', array[$1::text]::text)) <> ''", iid)
			s.Want(t, "", "select iid from mbus4.consume('q')")
			s.Want(t, iid, "select iid from mbus4.consume('later')")
			harness.Await(t, s.Conn, "select exists (select from mbus4.consume('q'))")
			s.Want(t, "", "select mbus4.drop_queue('later')")
		}
	})
}

// To drop a trigger that is not there does nothing and says nothing.
func TestDropTriggerThatIsMissing(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"a", "b"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_trigger('a', 'b')")
		s.Want(t, "", "select mbus4.drop_trigger('b', 'a')")
		s.Want(t, "", "select mbus4.drop_trigger('nowhere', $1)", "a")
		s.Want(t, "", "select mbus4.drop_trigger($1, 'b')", nil)
		s.Want(t, "\n", "select mbus4.drop_trigger('a', x) from unnest(array['nowhere', null]) x")
		s.Want(t, "1", "select count(*) from mbus4.consumer where target = 'b'")
		s.Want(t, "\n", "select mbus4.drop_trigger('a', x) from unnest(array['nowhere', 'b']) x")
		s.Want(t, "0", "select count(*) from mbus4.consumer where target = 'b'")
	})
}

// No number means all there are; a negative one is an error, as for LIMIT.
func TestConsumeAll(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		harness.Ask(t, s.Conn, "create table t (queue text, n int); insert into t values ('q', null), ('r', 1), ('q', 1)")
		for _, c := range []struct {
			sql, want string
			args      []any
		}{
			{"select count(*) from mbus4.consumen_q_by_default(null)", "30", nil},
			{"select count(*) from mbus4.consumen_q_by_default($1)", "30", []any{nil}},
			{"select count(*) from mbus4.consumen('q', amt => $1)", "30", []any{nil}},
			{"select count(m) from (select mbus4.consumen('q', 'default', null) as m) x", "30", nil},
			{"select t.queue, count(m.iid) from t cross join lateral mbus4.consumen(t.queue, 'default', t.n) m group by 1 order by 1", "q|30\nr|1", nil}, // in place
			{"select queue, count(*) from (select t.queue, mbus4.consumen(t.queue, 'default', t.n) from t where t.n is null or t.queue = 'r') x group by 1 order by 1", "q|30\nr|1", nil},
			{"select count(*) from mbus4.consumen('q', 'default', 0)", "0", nil},
		} {
			s.Want(t, "", "begin")
			s.Want(t, "30|30", "select count(mbus4.post('q', '')), count(mbus4.post('r', '')) from generate_series(1, 30)")
			s.Want(t, c.want, c.sql, c.args...)
			s.Want(t, "", "rollback")
		}
		s.Want(t, "t", "select mbus4.post('q', '') <> ''")
		s.Refused(t, "2201W", "select * from mbus4.consumen('q', 'default', -1)")
		s.Refused(t, "2201W", "select * from mbus4.consumen_q_by_default($1)", -1)
		s.Refused(t, "2201W", "select mbus4.consumen(t.queue, 'default', -1) from t")
		s.Want(t, "1", "select count(*) from mbus4.consumen('q', amt => 5)")
	})
}

// The messages of a temporary queue say which it is in a header, and no others do.
func TestHeaderOfTemporaryQueues(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		queue := harness.Ask(t, s.Conn, "select mbus4.create_temporary_queue()")
		fed := harness.Ask(t, s.Conn, "select mbus4.create_temporary_consumer('q', 't.iid <> ''x''')")
		s.Want(t, "a", "select mbus4.post_temp($1, '', 'own=>1', iid => 'a')", queue)
		s.Want(t, "b", "select mbus4.post($1, '', iid => 'b')", queue)
		s.Want(t, "c", "select mbus4.post('q', '', iid => 'c')")
		s.Want(t, queue+"|1", "select headers->'tempq', headers->'own' from mbus4.peek('a')")
		s.Want(t, queue+"|1", "select headers->'tempq', headers->'own' from mbus4.consume_temp($1)", queue)
		s.Want(t, queue, "select headers->'tempq' from mbus4.dyn_consume($1, 't.headers->''tempq'' is not null')", queue)
		s.Want(t, fed, "select (mbus4.consume_temp($1)).headers->'tempq'", fed)
		s.Want(t, "f", "select headers ? 'tempq' from mbus4.consume('q')")
	})
}
