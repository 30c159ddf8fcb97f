package calls

import "testing"

// The queue of dead messages.
func TestCompatibilityDMQ(t *testing.T) {
	runScenarios(t, []scenario{
		{"there and back", []step{
			alike("", "select mbus4.create_queue('q', 1)"),
			alike("", "select mbus4.create_queue('r', 1)"),
			alike("q.1", "select mbus4.post('q', 'n=>1', 'k=>v', 'p=>1', iid => 'q.1')"),
			alike("r.1", `select mbus4.post('r', '', 'consume_after=>"{q.1}"', iid => 'r.1')`),
			alike("q.1", "select mbus4.post('dmq', data, headers || 'dmq.error=>bad', properties, delayed_until, expires, iid) from mbus4.consume('q')"),
			alike("q.1|v|q|q|bad", `select iid, headers->'k', headers->'destination', headers->'destination_queue', headers->'dmq.error' from mbus4.dmq`),
			alike("t", "select mbus4.is_msg_exists('q.1')"),
			alike("", "select iid from mbus4.consume('r')"),
			alike("q.1", "select mbus4.post(headers->'destination', data, headers, properties, delayed_until, expires, iid) from mbus4.consume('dmq')"),
			alike("", "select iid from mbus4.dmq"),
			alike("", "select iid from mbus4.consume('r')"),
			alike("q.1|v|bad|q|1|1", "select iid, headers->'k', headers->'dmq.error', headers->'destination', data->'n', properties->'p' from mbus4.consume('q')"),
			eventually("select exists (select from mbus4.consume('r'))"),
		}},
		{"it is never cleaned", []step{
			alike("d.1", "select mbus4.post_dmq('n=>1', expires => '2001-01-01', iid => 'd.1')"),
			alike("d.2", "select mbus4.post_dmq('n=>1', delayed_until => '2999-01-01', iid => 'd.2')"),
			alike("d.3", `select mbus4.post_dmq('n=>1', 'consume_after=>"{d.2}"', iid => 'd.3')`),
			alike("r.2", `select mbus4.post('r', '', 'consume_after=>"{d.1}"', iid => 'r.2')`),
			alike("d.1 d.2 d.3", "select string_agg(iid, ' ' order by iid) from mbus4.dmq"),
			alike("t|t|t", "select mbus4.is_msg_exists('d.1'), mbus4.is_msg_exists('d.2'), mbus4.is_msg_exists('d.3')"),
			alike("d.1|d.2", "select (mbus4.peek('d.1')).iid, (mbus4.peek('d.2')).iid"),
			alike("", "select iid from mbus4.consume('r')"),
			alike("d.1", "select iid from mbus4.consume_dmq()"),
			alike("d.2", "select iid from mbus4.consume('dmq')"),
			alike("d.3", "select iid from mbus4.consume('dmq')"),
			alike("", "select iid from mbus4.consume_dmq()"),
			eventually("select exists (select from mbus4.consume('r'))"),
		}},
		{"what is posted to it", []step{
			alike("d.4", "select mbus4.post_dmq('n=>1', 'destination=>elsewhere', iid => 'd.4')"),
			alike("elsewhere", "select headers->'destination' from mbus4.consume_dmq()"),
			alike("d.5", "select mbus4.post_dmq('n=>1', iid => 'd.5')"),
			unlike("dmq|t", "∅|∅", "select headers->'destination_queue', headers->'source_db' = current_database() from mbus4.consume_dmq()"),
		}},
		{"taking from it", []step{
			alike("q.5", "select mbus4.post('dmq', 'n=>1', iid => 'q.5')"),
			alike("error 23505", "select mbus4.post('dmq', 'n=>1', iid => 'q.5')"),
			alike("q.5", "select iid from mbus4.take('q.5')"),
			alike("d.6", "select mbus4.post_dmq('n=>1', iid => 'd.6')"),
			unlike("error 42704", "d.6", "select iid from mbus4.consume('dmq', 'whoever')"),
			unlike("d.6", "", "select iid from mbus4.consume('dmq')"),
			unlike("t", "error P0001", "select mbus4.post('DMQ', 'n=>1') is not null"),
			unlike("1", "0", "select count(*) from mbus4.consume_dmq()"),
			unlike("t", "error 23502", "select mbus4.post_dmq(null) is not null"),
			unlike("1", "0", "select count(*) from mbus4.consume_dmq()"),
		}},
	})
}

// Temporary queues.
func TestCompatibilityTemporary(t *testing.T) {
	runScenarios(t, []scenario{
		{"the queue", []step{
			alike("", "select mbus4.create_queue('q', 1)"),
			alike("", "create temporary table mine (q text)"),
			alike("", "insert into mine select mbus4.create_temporary_queue()"),
			alike("t", `select q ~ '^temp\.[0-9a-f]{32}\.\d+$' from mine`),
			unlike("t", "f", "select a <> b from (select mbus4.create_temporary_queue() a, mbus4.create_temporary_queue() b) x"),
			alike("", "select iid from mine, mbus4.consume(q)"),
			alike("t", "select mbus4.post(q, 'n=>1', 'own=>v', 'p=>1') is not null from mine"),
			alike("t", "select mbus4.post_temp(q, 'n=>2') is not null from mine"),
			unlike("1|1|t|v", "1|1|t|∅", "select data->'n', properties->'p', headers->'tempq' = q, headers->'own' from mine, mbus4.consume(q)"),
			alike("2|t|t|t", "select data->'n', headers->'tempq' = q, delayed_until is not null, 0 <> all(received) from mine, mbus4.consume_temp(q)"),
			alike("", "select iid from mine, mbus4.consume_temp(q)"),
			unlike("error 42704", "", "select iid from mbus4.consume_temp(null)"),
			unlike("error 42704", "", "select iid from mbus4.consume('temp.never')"),
		}},
		{"delay and expiry", []step{
			alike("t", "select mbus4.post(q, 'n=>1', delayed_until => '2999-01-01') is not null from mine"),
			alike("t", "select mbus4.post(q, 'n=>2', expires => '2001-01-01') is not null from mine"),
			alike("", "select iid from mine, mbus4.consume(q)"),
		}},
		{"the consumer", []step{
			alike("", "update mine set q = mbus4.create_temporary_consumer('q', $$t.data->'n' = '1'$$)"),
			alike("q.2", "select mbus4.post('q', 'n=>2', iid => 'q.2')"),
			unlike("", "2", "select data->'n' from mine, mbus4.consume(q)"),
			alike("q.1", "select mbus4.post('q', 'n=>1', iid => 'q.1')"),
			alike("1|t", "select data->'n', headers->'tempq' = q from mine, mbus4.consume(q)"),
			unlike("error 42704", "error 42703", "select mbus4.create_temporary_consumer('nowhere')"),
		}},
	})
}

// Triggers and their copies.
func TestCompatibilityTriggers(t *testing.T) {
	runScenarios(t, []scenario{
		{"a copy", []step{
			alike("", "select mbus4.create_queue('s', 1)"),
			alike("", "select mbus4.create_queue('d', 1)"),
			alike("", "select mbus4.create_trigger('s', 'd', $$t.data ? 'n'$$)"),
			alike("s.1", `select mbus4.post('s', 'n=>1', 'k=>v, consume_after=>"{nowhere.1}"', 'p=>1', iid => 's.1')`),
			alike("t|d|d|t|v|t|1|1|t", `select iid like 'd.%', headers->'destination_queue', headers->'destination',
				(headers->'seenby')::text[] = array[current_database()::text], headers->'k', (headers->'consume_after')::text[] = '{nowhere.1}',
				properties->'p', data->'n', headers->'enqueue_time' = (mbus4.peek('s.1')).headers->'enqueue_time' from mbus4.consume('d')`),
			alike("s.1|s", "select iid, headers->'destination_queue' from mbus4.consume('s')"),
			alike("s.2", "select mbus4.post('s', 'm=>1', iid => 's.2')"),
			alike("", "select iid from mbus4.consume('d')"),
		}},
		{"Redeploy", []step{
			alike("s.3", "select mbus4.post('s', 'n=>3', 'Redeploy=>true', iid => 's.3')"),
			alike("", "select data from mbus4.consume('d')"),
			alike("s.4", "select mbus4.post('s', 'n=>4', 'Redeploy=>false', iid => 's.4')"),
			alike("4", "select data->'n' from mbus4.consume('d')"),
			alike("s.5", "select mbus4.post('s', 'n=>5', 'redeploy=>true', iid => 's.5')"),
			alike("5", "select data->'n' from mbus4.consume('d')"),
			alike("s.6", "select mbus4.post('s', 'n=>6', 'Redeploy=>NULL', iid => 's.6')"),
			alike("6", "select data->'n' from mbus4.consume('d')"),
			alike("true", "select headers->'Redeploy' from mbus4.take('s.3')"),
		}},
		{"delay and expiry", []step{
			alike("s.9", "select mbus4.post('s', 'n=>9', delayed_until => '2999-01-01', expires => '2999-01-02', iid => 's.9')"),
			unlike("", "9", "select data->'n' from mbus4.consume('d')"),
			alike("s.9", "select iid from mbus4.take('s.9')"),
			unlike("t", "f", "select mbus4.peek_d()"),
		}},
		{"a chain", []step{
			alike("", "select mbus4.create_queue('e', 1)"),
			alike("", "select mbus4.create_trigger('d', 'e')"),
			alike("s.7", "select mbus4.post('s', 'n=>7', iid => 's.7')"),
			alike("7|e|t", "select data->'n', headers->'destination_queue', (headers->'seenby')::text[] = array[current_database()::text] from mbus4.consume('e')"),
			alike("7|d", "select data->'n', headers->'destination_queue' from mbus4.consume('d')"),
		}},
		{"a selector that fails copies nothing", []step{
			alike("", "select mbus4.create_trigger('s', 'e', $$1 / (t.data->'n')::int = 1$$)"),
			alike("s.8", "select mbus4.post('s', 'n=>0', iid => 's.8')"),
			alike("0", "select data->'n' from mbus4.consume('e')"), // by way of d
			alike("", "select data->'n' from mbus4.consume('e')"),
		}},
		{"what is refused", []step{
			unlike("error 42P17", "error P0001", "select mbus4.create_trigger('e', 's')"),
			unlike("error 42P17", "error P0001", "select mbus4.create_trigger('e', 'e')"),
			unlike("error 42710", "error 23505", "select mbus4.create_trigger('d', 'e')"),
			unlike("error 22004", "error 23502", "select mbus4.create_trigger(null, 'e')"),
			unlike("error 42601", "error P0001", "select mbus4.create_trigger('s', 'x', 'not sql at all')"),
		}},
		{"what is not there", []step{
			alike("", "select mbus4.drop_trigger('no', 'such')"),
			alike("", "select mbus4.drop_trigger(null, null)"),
			alike("", "select mbus4.create_trigger('e', 'nowhere')"),
			unlike("t", "error P0001", "select mbus4.post('e', '') is not null"),
			alike("", "select mbus4.drop_trigger('e', 'nowhere')"),
			alike("", "select mbus4.drop_trigger('e', 'nowhere')"),
		}},
		{"to dmq", []step{
			alike("", "select mbus4.create_queue('f', 1)"),
			alike("", "select mbus4.create_trigger('f', 'dmq')"),
			alike("f.1", "select mbus4.post('f', 'n=>1', 'k=>v', iid => 'f.1')"),
			alike("v", "select headers->'k' from mbus4.consume_dmq()"),
		}},
	})
}

// Statements run once per message.
func TestCompatibilityRunOn(t *testing.T) {
	runScenarios(t, []scenario{
		{"how many succeeded", []step{
			alike("", "select mbus4.create_queue('q', 1)"),
			unlike("0", "error 42883", "select mbus4.run_on_q('select 1')"),
			alike("", "select mbus4.create_run_function('q')"),
			alike("0", "select mbus4.run_on_q('select 1')"),
			alike("", "create table done (n int)"),
			alike("q.1\nq.2\nq.3", "select mbus4.post('q', hstore('n', i::text), 'k=>v', iid => 'q.' || i) from generate_series(1, 3) i"),
			alike("2", "select mbus4.run_on_q('insert into done select 1 / ((($1).data->''n'')::int - 2)')"),
			alike("-1 1", "select string_agg(n::text, ' ' order by n) from done"),
			alike("q.2|division by zero|v|q|q|t", `select iid, headers->'dmq.error', headers->'k', headers->'destination', headers->'destination_queue',
				headers->'dmq.added' ~ '^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?$' from mbus4.consume_dmq()`),
		}},
		{"null", []step{
			alike("0", "select mbus4.run_on_q(null)"),
			alike("q.4", "select mbus4.post('q', '', iid => 'q.4')"),
			alike("0", "select mbus4.run_on_q(null)"),
			alike("f", "select mbus4.peek_q()"),
			alike("q.4|t", "select iid, headers->'dmq.error' is not null from mbus4.consume_dmq()"),
		}},
		{"statements of other kinds", []step{
			alike("q.5", "select mbus4.post('q', '', iid => 'q.5')"),
			alike("1", "select mbus4.run_on_q('')"),
			alike("q.6", "select mbus4.post('q', '', iid => 'q.6')"),
			alike("1", "select mbus4.run_on_q('select ' || '1')"),
			alike("q.7", "select mbus4.post('q', '', iid => 'q.7')"),
			alike("1", "select mbus4.run_on_q('select 1; select 2')"),
			alike("", "select iid from mbus4.consume_dmq()"),
			alike("", "create function handler(m mbus4.qt_model) returns void language sql as $$insert into done values ((m.data->'n')::int)$$"),
			alike("q.9", "select mbus4.post('q', 'n=>9', iid => 'q.9')"),
			alike("1", "select mbus4.run_on_q('select handler($1)')"),
			alike("q.10", "select mbus4.post('q', 'n=>10', iid => 'q.10')"),
			alike("1", "select mbus4.run_on_q('insert into done values (($1.data->''n'')::int)')"),
			alike("9|10", "select (select n from done where n = 9), (select n from done where n = 10)"),
			alike("q.11", "select mbus4.post('q', '', iid => 'q.11')"),
			alike("0", "select mbus4.run_on_q('commit')"),
			alike("q.11|EXECUTE of transaction commands is not implemented", "select iid, headers->'dmq.error' from mbus4.consume('dmq')"),
			alike("q.8", "select mbus4.post('q', '', iid => 'q.8')"),
			alike("0", "select mbus4.run_on_q('mistake')"),
			alike("q.8", "select iid from mbus4.consume_dmq()"),
		}},
		{"a queue that is not there", []step{
			unlike("error 42704", "error P0001", "select mbus4.create_run_function('nowhere')"),
			unlike("error 42704", "error 42883", "select mbus4.run_on_nowhere('select 1')"),
		}},
	})
}
