package calls

import (
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// Names of queues.
func TestCompatibilityNames(t *testing.T) {
	runScenarios(t, []scenario{
		{"case is folded in calls", []step{
			alike("", "select mbus4.create_queue('names', 2)"),
			alike("names.1", "select mbus4.post('NAMES', 'a=>1', iid => 'names.1')"),
			alike("names.1", "select iid from mbus4.consume('Names', 'DEFAULT')"),
			alike("names|2", "select qname, consumers_cnt from mbus4.queue where qname = 'names'"),
		}},
		{"what cannot be created", []step{
			unlike("", "error 42P07", "select mbus4.create_queue('names', 3)"),
			unlike("error 42602", "", "select mbus4.create_queue('Names2', 2)"),
			unlike("error 42602", "error 42601", "select mbus4.create_queue('with-dash', 2)"),
			unlike("error 42602", "error 0A000", "select mbus4.create_queue('temp.x', 2)"),
			unlike("error 42602", "error 22004", "select mbus4.create_queue(null, 2)"),
			unlike("error 22023", "error 22004", "select mbus4.create_queue('nobody', null)"),
			unlike("error 22023", "", "select mbus4.create_queue('none', 0)"),
			unlike("error 42602", "", "select mbus4.create_queue('dmq', 2)"),
		}},
		{"a queue is dropped with all that it has", []step{
			alike("", "select mbus4.create_queue(qname => 'mistake', consumers_cnt => 1)"),
			unlike("", "error 42883", "select mbus4.drop_queue(qname => 'mistake')"),
			unlike("0", "1", "select count(*) from mbus4.consumer where qname = 'mistake'"),
			unlike("error 42704", "error 42P01", "select mbus4.drop_queue('nowhere')"),
		}},
	})
}

// Consumers and their selectors.
func TestCompatibilityConsumers(t *testing.T) {
	runScenarios(t, []scenario{
		{"the consumer comes first", []step{
			alike("", "select mbus4.create_queue('a', 2)"),
			alike("", "select mbus4.create_queue('b', 2)"),
			alike("", "select mbus4.create_consumer('c1', 'a')"),
			alike("", "select mbus4.create_consumer('c2', 'a', null, false)"),
			alike("", "select mbus4.create_consumer(cname => 'c3', qname => 'a', p_selector => 'true', noindex => true)"),
			unlike("", "error 22004", "select mbus4.create_consumer('a', 'c4')"),
			alike("", "select mbus4.drop_consumer('c1', 'a')"),
			alike("", "select mbus4.drop_consumer(cname => 'c2', qname => 'a')"),
			unlike("c3 c4 default", "c3 default", "select string_agg(name, ' ' order by name) from mbus4.consumer where qname = 'a'"),
			alike("t", "select added <= now()::timestamp and added > '2001-01-01' from mbus4.consumer where name = 'c3'"),
		}},
		{"both may be queues", []step{
			unlike("error 42725", "", "select mbus4.create_consumer('b', 'a')"),
			unlike("", "error 42P07", "select mbus4.create_consumer(cname => 'b', qname => 'a')"),
			unlike("error 42725", "", "select mbus4.drop_consumer('b', 'a')"),
			unlike("", "error 42704", "select mbus4.drop_consumer(cname => 'b', qname => 'a')"),
		}},
		{"what is or is not there", []step{
			unlike("error 42710", "error 42P07", "select mbus4.create_consumer('default', 'a')"),
			unlike("error 42704", "error 22004", "select mbus4.create_consumer('c5', 'nowhere')"),
			alike("error 42704", "select mbus4.drop_consumer('nobody', 'a')"),
			unlike("error 42602", "error 22004", "select mbus4.create_consumer(null, 'a')"),
		}},
		{"selectors", []step{
			alike("", "select mbus4.create_queue('s', 2)"),
			alike("", "select mbus4.create_consumer('empty', 's', '')"),
			alike("", "select mbus4.create_consumer('blank', 's', '  ')"),
			alike("", "select mbus4.create_consumer('bare', 's', $$data->'n' = '1'$$)"),
			alike("", "select mbus4.create_consumer('t', 's', $$t.data->'n' = '1'$$, true)"),
			unlike("", "error 42P01", "select mbus4.create_consumer('t2', 's', $$t.data->'n' = '1'$$)"),
			unlike("error 42883", "", "select mbus4.create_consumer('share', 's', 'hashtext(iid) % 2 = 0', true)"),
			unlike("error 42704", "", "select mbus4.create_consumer('json', 's', $$(data->'j')::json->>'a' = '1'$$, true)"),
			unlike("error 42P17", "", "select mbus4.create_consumer('who', 's', $$data->'n' = current_user$$, true)"),
			alike("error 42P17", "select mbus4.create_consumer('now', 's', 'delayed_until < now()')"),
			alike("error 42601", "select mbus4.create_consumer('no', 's', 'not sql at all')"),
			alike("error 42601", "select mbus4.create_consumer('two', 's', 'true; drop table x')"),
			alike("s.1", "select mbus4.post('s', 'n=>1', iid => 's.1')"),
			alike("s.2", "select mbus4.post('s', 'n=>2', iid => 's.2')"),
			alike("s.1", "select iid from mbus4.consumen_s_by_bare(9)"),
			alike("s.1", "select iid from mbus4.consumen_s_by_t(9)"),
			alike("s.1\ns.2", "select iid from mbus4.consumen_s_by_empty(9)"),
			alike("s.1\ns.2", "select iid from mbus4.consumen_s_by_blank(9)"),
		}},
		{"a selector that fails is false", []step{
			alike("", "select mbus4.create_queue('f', 2)"),
			alike("", "select mbus4.create_consumer('fails', 'f', $$(data->'n')::int > 1$$, true)"),
			alike("f.1", "select mbus4.post('f', 'n=>x', iid => 'f.1')"),
			unlike("", "error 22P02", "select iid from mbus4.consumen_f_by_fails(9)"),
			unlike("f.1", "error 22P02", "select iid from mbus4.consume('f')"),
		}},
		{"a consumer gets what comes after it", []step{
			alike("", "select mbus4.create_queue('l', 2)"),
			alike("l.1", "select mbus4.post('l', 'n=>1', iid => 'l.1')"),
			alike("", "select mbus4.create_consumer('late', 'l')"),
			alike("l.2", "select mbus4.post('l', 'n=>2', iid => 'l.2')"),
			alike("l.2", "select iid from mbus4.consumen_l_by_late(9)"),
			alike("l.1\nl.2", "select iid from mbus4.consumen_l_by_default(9)"),
		}},
	})
}

// Each function takes the original's names for its parameters.
func TestCompatibilityParameters(t *testing.T) {
	runScenarios(t, []scenario{{"by name", []step{
		alike("", "select mbus4.create_queue(qname => 'q', consumers_cnt => 2)"),
		alike("", "select mbus4.create_queue(qname => 'r', consumers_cnt => 2)"),
		alike("", "select mbus4.create_consumer(cname => 'c', qname => 'q', p_selector => 'false', noindex => true)"),
		alike("", "select mbus4.create_trigger(src => 'q', dst => 'r', selector => 'false')"),
		alike("", "select mbus4.drop_trigger(src => 'q', dst => 'r')"),
		alike("", "select mbus4.create_run_function(qname => 'q')"),
		alike("t", "select mbus4.create_temporary_consumer(cname => 'r', p_selector => 'true') like 'temp.%'"),
		alike("q.1", `select mbus4.post(qname => 'q', data => 'a=>1', headers => 'h=>1', properties => 'p=>1', delayed_until => '2001-01-01',
			expires => '2999-01-01', iid => 'q.1')`),
		alike("q.2", `select mbus4.post_q(data := 'a=>1', headers := 'h=>1', properties := 'p=>1', delayed_until := '2001-01-01',
			expires := '2999-01-01', iid := 'q.2')`),
		alike("dmq.1", `select mbus4.post_dmq(data => 'a=>1', headers => 'h=>1', properties => 'p=>1', delayed_until => '2001-01-01',
			expires => '2999-01-01', iid => 'dmq.1')`),
		alike("", "create temporary table mine as select mbus4.create_temporary_queue() as q"),
		alike("t", `select mbus4.post_temp(tqname => q, data => 'a=>1', headers => 'h=>1', properties => 'p=>1',
			delayed_until => '2001-01-01', expires => '2999-01-01') is not null from mine`),
		alike("q.1", "select iid from mbus4.peek(msgiid => 'q.1')"),
		alike("t", "select mbus4.peek_q(msgid => 'q.1')"),
		alike("t", "select mbus4.is_msg_exists(msgiid => 'q.1')"),
		alike("q.1", "select iid from mbus4.take(msgiid => 'q.1')"),
		alike("q.2", "select iid from mbus4.dyn_consume(qname => 'q', selector => $$data ? 'a'$$, cname => 'default')"),
		alike("", "select iid from mbus4.consume(qname => 'q', cname => 'default')"),
		alike("", "select iid from mbus4.consumen_q_by_c(amt => 3)"),
		alike("", "select iid from mbus4.take_from_q_by_c(msgid => 'q.1') where iid is not null"),
		alike("a", "select k from mine, mbus4.consume_temp(tqname => q), skeys(data) k"),
		alike("dmq.1", "select iid from mbus4.consume_dmq()"),
		alike("t", "select mbus4.generate_new_msgiid(qname => 'q') like 'q.%'"),
		alike("0", "select mbus4.run_on_q(exec => 'select 1')"),
		alike("", "select mbus4.clear_queue_q()"),
		alike("", "select mbus4.clear_tempq()"),
		alike("", "select mbus4.drop_consumer(cname => 'c', qname => 'r') where false"),
		unlike("", "error 42883", "select mbus4.create_view(qname => 'q', cname => 'default')"),
		unlike("", "error 42883", "select mbus4.create_view(qname => 'q', cname => 'default', viewname => 'public.compatible')"),
		alike("t", "select length(mbus4.readme()) > 1000"),
		alike("", "select mbus4.regenerate_functions()"),
	}}})
}

// The tables that an application reads.
func TestCompatibilityTables(t *testing.T) {
	runScenarios(t, []scenario{
		{"queues, consumers and triggers", []step{
			alike("", "select mbus4.create_queue('q', 7)"),
			alike("", "select mbus4.create_queue('r', 1)"),
			alike("", "select mbus4.create_consumer('c', 'q', 'true')"),
			alike("", "select mbus4.create_trigger('q', 'r', 'true')"),
			alike("t|q|7", "select id is not null, qname, consumers_cnt from mbus4.queue where qname = 'q'"),
			alike("c|q|true|t", "select name, qname, selector, added is not null from mbus4.consumer where name = 'c'"),
			alike("default|q", "select name, qname from mbus4.consumer where qname = 'q' and name = 'default'"),
			alike("q|r|true", "select src, dst, selector from mbus4.trigger"),
			unlike("c default|1", "c default|0", `select string_agg(name, ' ' order by name) filter (where name in ('c', 'default')),
				count(*) filter (where name not in ('c', 'default')) from mbus4.consumer where qname = 'q'`),
			unlike("∅", "1=1", "select selector from mbus4.consumer where qname = 'q' and name = 'default'"),
			unlike("dmq q r semaphore_events", "q r", "select string_agg(qname, ' ' order by qname) from mbus4.queue"),
		}},
		{"dmq", []step{
			alike("dmq.1", "select mbus4.post_dmq('n=>1', 'h=>1', 'p=>1', '2999-01-01', '2998-01-01', 'dmq.1')"),
			alike("dmq.1|1|1|1|2999-01-01 00:00:00|2998-01-01 00:00:00|t",
				"select iid, data->'n', headers->'h', properties->'p', delayed_until, expires, added <= now()::timestamp from mbus4.dmq"),
			alike("", "select id, received from mbus4.dmq where false"),
			alike("dmq.1", "select iid from mbus4.consume_dmq()"),
		}},
		{"the row of a message", []step{
			alike("", "select mbus4.create_queue('rows', 1)"),
			alike("rows.1", "select mbus4.post('rows', 'n=>1', iid => 'rows.1')"),
			alike("rows.2", "select mbus4.post('rows', 'n=>2', iid => 'rows.2')"),
			alike("", "create table archive (like mbus4.qt_model)"),
			alike("", "insert into archive select * from mbus4.consume('rows')"),
			alike("id added iid delayed_until expires received headers properties data",
				"select string_agg(attname, ' ' order by attnum) from pg_attribute where attrelid = 'archive'::regclass and attnum > 0"),
			unlike("bigint|t", "integer|t", "select pg_typeof((m).id), pg_typeof(m) = 'mbus4.qt_model'::regtype from (select mbus4.consume('rows') m) x"),
			alike("rows.1|1", "select iid, data->'n' from archive"),
		}},
		{"tables that are not there", []step{
			unlike("error 42P01", "0", "select count(*) from mbus4.qt$rows"),
			unlike("error 42P01", "0", "select count(*) from mbus4.tempq"),
			unlike("error 42P01", "t", "select nextval('mbus4.seq') > 0"),
		}},
		{"helpers that are not there", []step{
			unlike("error 42883", "error P0001", "select mbus4.raise_exception('x')"),
			unlike("error 42883", "error 42883", "select mbus4.string_format('%<a>', 'a=>1')"), // which lacks a function of its own
			unlike("error 42883", "", "select mbus4.run_trigger('rows', 'a=>1')"),
			unlike("error 42883", "{}", "select mbus4.build_rows_record_consumer_list(null::mbus4.qt_model)"),
			unlike("error 42883", "t", "select mbus4.trigger_q_to_r(null::mbus4.qt_model)"),
		}},
		{"the catalogue knows no calls", []step{
			unlike("0", "1", "select count(*) from pg_proc where proname = 'post_rows'"),
			unlike("error 42883", "", "grant execute on function mbus4.post_rows(hstore, hstore, hstore, timestamp, timestamp, text) to public"),
		}},
	})
}

// Views that consume and post, and views of one's own.
func TestCompatibilityViews(t *testing.T) {
	runScenarios(t, []scenario{
		{"create_view", []step{
			alike("", "select mbus4.create_queue('q', 1)"),
			unlike("", "error 42883", "select mbus4.create_view('q')"),
			unlike("", "error 42883", "select mbus4.create_view('q', 'default', 'public.other')"),
			unlike("", "error 42P01", "insert into q_q values ('n=>1')"),
			unlike(`"n"=>"1"`, "error 42P01", "select * from other"),
			unlike("error 42704", "error 42883", "select mbus4.create_view('q', 'nobody')"),
		}},
		{"a view over a call", []step{
			alike("", "select mbus4.create_queue('v', 1)"),
			unlike("error 0A000", "", "create view mine as select * from mbus4.consume('v')"),
		}},
	})
}

// A view over peek_<q> works and holds nothing of the proxy's own, or it is refused.
func TestCompatibilityViewOfPeek(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		_, err := s.Form.Run(harness.Context(t), s.Conn, forms.Do("create view peeks as select mbus4.peek_q() as found"))
		if code := harness.SQLState(err); err != nil && code != "0A000" {
			t.Fatalf("%v; want the view or 0A000", err)
		}
		if err != nil {
			return
		}
		s.Want(t, "f", "select found from peeks")
		s.Want(t, "q.1", "select mbus4.post('q', '', iid => 'q.1')")
		s.Want(t, "t", "select found from peeks")
		s.Want(t, "f", "select pg_get_viewdef('peeks'::regclass) ~ 'mbus4.(message|at_|hint_|undelivered)|mbus4-error'")
	})
}

// A reply to a temporary queue whose session has ended is accepted and discarded; what else the transaction does stays.
func TestCompatibilityReplyToNobody(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"requests"}, func(t *testing.T, s *forms.Session) {
		requester := harness.Connect(t, harness.Proxied(), s.Database)
		harness.Want(t, requester, "requests.1", "select mbus4.post('requests', hstore('reply', mbus4.create_temporary_queue()), iid => 'requests.1')")
		pid := harness.Ask(t, requester, "select pg_backend_pid()")
		harness.Close(requester)
		harness.Await(t, s.Conn, "select not exists (select from pg_stat_activity where pid = "+pid+")")
		s.Want(t, "", "select mbus4.clear_tempq()")

		s.Want(t, "", "begin")
		s.Want(t, "t", "select mbus4.post(data->'reply', 'a=>42') is not null from mbus4.consume('requests')")
		s.Want(t, "t", "select mbus4.post_temp(tqname => 'temp.0123456789abcdef0123456789abcdef.7', data => 'a=>42') is not null")
		s.Want(t, "", "commit")
		s.Want(t, "f", "select mbus4.peek_requests()")
		s.Want(t, "0", "select count(*) from mbus4.message")
	})
}

// Calls inside functions of the database's own.
func TestCompatibilityBodies(t *testing.T) {
	runScenarios(t, []scenario{{"refused there", []step{
		alike("", "select mbus4.create_queue('q', 1)"),
		alike("", "create function posts() returns text language plpgsql as $$begin return mbus4.post('q', '', iid => 'q.1'); end$$"),
		unlike("error 42883", "q.1", "select posts()"),
		unlike("error 42883", "", "do $$begin perform mbus4.post('q', '', iid => 'q.2'); end$$"),
		unlike("error 42883", "", "create function in_sql() returns text language sql as $$select mbus4.post('q', '', iid => 'q.3')$$"),
		alike("", "select mbus4.create_run_function('q')"),
		unlike("", "q.1\nq.2", "select iid from mbus4.consumen_q_by_default(9)"),
	}}})
}
