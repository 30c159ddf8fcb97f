package calls

import "testing"

// The headers that the bus sets, and those it reads.
func TestCompatibilityHeaders(t *testing.T) {
	const local = `'^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?$'`
	runScenarios(t, []scenario{
		{"what is set", []step{
			alike("", "select mbus4.create_queue('h', 1)"),
			alike("h.1", "select mbus4.post('h', 'a=>1', 'own=>1', iid => 'h.1')"),
			alike("destination destination_queue enqueue_time own seenby source_db|h|h|t|t|t|t",
				`select (select string_agg(k, ' ' order by k) from skeys(headers) k), headers->'destination', headers->'destination_queue',
				headers->'source_db' = current_database(), (headers->'seenby')::text[] = array[current_database()::text],
				headers->'enqueue_time' ~ `+local+`, (headers->'enqueue_time')::timestamp = added from mbus4.consume('h')`),
		}},
		{"the text of a time", []step{ // one in ten ends in a zero, which is not written
			alike("100", "select count(mbus4.post('h', '', iid => 'h.t' || i)) from generate_series(1, 100) i"),
			alike("0", "select count(*) from mbus4.consumen_h_by_default(100) where headers->'enqueue_time' <> added::text"),
		}},
		{"what the caller gave", []step{
			alike("h.2", `select mbus4.post('h', 'a=>1', 'enqueue_time=>x, source_db=>y, destination_queue=>z, destination=>w, seenby=>"{p}"', iid => 'h.2')`),
			alike("x|y|z|h|t", `select headers->'enqueue_time', headers->'source_db', headers->'destination_queue', headers->'destination',
				(headers->'seenby')::text[] = array['p', current_database()::text] from mbus4.consume('h')`),
			alike("h.3", "select mbus4.post('h', 'a=>1', 'seenby=>NULL', iid => 'h.3')"),
			alike("t", "select (headers->'seenby')::text[] = array[current_database()::text] from mbus4.consume('h')"),
			alike("error 22P02", "select mbus4.post('h', 'a=>1', 'seenby=>here')"),
			alike("error 22P02", "select mbus4.post('h', 'a=>1', 'consume_after=>there')"),
			alike("h.4", `select mbus4.post('h', 'a=>1', 'consume_after=>"{b, a}"', iid => 'h.4')`),
			alike("{b,a}", "select (headers->'consume_after')::text[] from mbus4.consume('h')"),
			alike("h.5", "select mbus4.post('h', 'a=>1', 'consume_after=>NULL', iid => 'h.5')"),
			alike("h.5", "select iid from mbus4.consume('h')"),
		}},
		{"in two time zones", []step{
			alike("", "set timezone = 'Asia/Tokyo'"),
			alike("h.7", "select mbus4.post('h', 'a=>1', iid => 'h.7')"),
			alike("", "set timezone = 'UTC'"),
			unlike("h.7|t", "", "select iid, (headers->'enqueue_time')::timestamp = added from mbus4.consume('h')"),
			unlike("∅", "h.7", "select iid from mbus4.take('h.7')"),
		}},
		{"in another DateStyle", []step{
			alike("", "set datestyle = 'German'"),
			alike("h.8", "select mbus4.post('h', 'a=>1', iid => 'h.8')"),
			unlike("t", "f", "select headers->'enqueue_time' ~ "+local+" from mbus4.consume('h')"),
			alike("", "set datestyle = 'ISO'"),
		}},
		{"of the functions for one message", []step{
			alike("h.6", "select mbus4.post('h', 'a=>1', iid => 'h.6')"),
			unlike("h", "∅", "select headers->'destination' from mbus4.peek('h.6')"),
			unlike("h", "∅", "select headers->'destination' from mbus4.take('h.6')"),
		}},
	})
}

// The row of a consumed message.
func TestCompatibilityConsumedRows(t *testing.T) {
	runScenarios(t, []scenario{
		{"never null", []step{
			alike("", "select mbus4.create_queue('c', 1)"),
			alike("c.1", "select mbus4.post('c', null, iid => 'c.1')"),
			alike("∅|∅|∅|t|t|{}", `select data, properties, expires, delayed_until is not null, delayed_until <= added, received
				from mbus4.consume('c')`),
			alike("c.2", "select mbus4.post('c', '', null, '', '2020-01-01', '2090-01-01', 'c.2')"),
			alike("c.2|2020-01-01 00:00:00|2090-01-01 00:00:00|t||", `select iid, delayed_until, expires, 0 <> all(received), data, properties
				from mbus4.consumen_c_by_default(9)`),
			alike("c.3", "select mbus4.post('c', '', iid => 'c.3')"),
			alike("t|t", "select delayed_until is not null, 0 <> all(received) from mbus4.take_from_c_by_default('c.3')"),
			alike("c.4", "select mbus4.post('c', '', iid => 'c.4')"),
			alike("t|t", "select delayed_until is not null, 0 <> all(received) from mbus4.take('c.4')"),
			alike("c.5", "select mbus4.post('c', '', iid => 'c.5')"),
			alike("t|t", "select delayed_until is not null, 0 <> all(received) from mbus4.peek('c.5')"),
			alike("t|t", "select delayed_until is not null, 0 <> all(received) from mbus4.dyn_consume('c', $$0 <> all(received) and delayed_until is not null$$)"),
		}},
		{"who had it before", []step{
			alike("", "select mbus4.create_queue('d', 1)"),
			alike("", "select mbus4.create_consumer('other', 'd')"),
			alike("d.1", "select mbus4.post('d', '', iid => 'd.1')"),
			alike("{}", "select received from mbus4.consume('d')"),
			unlike("{}", "{4}", "select regexp_replace(received::text, '[0-9]+', '4') from mbus4.consumen_d_by_other(1)"),
		}},
		{"a selector may ask for both", []step{
			alike("", "select mbus4.create_queue('e', 1)"),
			alike("", "select mbus4.create_consumer('strict', 'e', $$delayed_until is not null and 0 <> all(received)$$)"),
			alike("e.1", "select mbus4.post('e', '', iid => 'e.1')"),
			alike("e.1", "select iid from mbus4.consumen_e_by_strict(1)"),
			alike("e.1", "select iid from mbus4.take('e.1')"),
		}},
		{"times without end", []step{
			alike("", "select mbus4.create_queue('g', 1)"),
			alike("g.2", "select mbus4.post('g', '', delayed_until => 'infinity', iid => 'g.2')"),
			alike("g.3", "select mbus4.post('g', '', delayed_until => '-infinity', expires => 'infinity', iid => 'g.3')"),
			alike("g.3|-infinity|infinity", "select iid, delayed_until, expires from mbus4.consumen_g_by_default(9)"),
			alike("g.2|infinity", "select iid, delayed_until from mbus4.take('g.2')"),
		}},
		{"columns of the call itself", []step{
			alike("g.4\ng.5", "select mbus4.post('g', '', iid => 'g.' || i) from generate_series(4, 5) i"),
			alike("g.4", "select iid from (select (mbus4.consume('g')).*) m"),
			alike("g.5", "select (mbus4.take(i)).iid from unnest(array['g.5']) i"),
		}},
	})
}

// How many messages come, and which of them are gone.
func TestCompatibilityAmounts(t *testing.T) {
	runScenarios(t, []scenario{
		{"consumen", []step{
			alike("", "select mbus4.create_queue('n', 1)"),
			alike("n.1\nn.2\nn.3\nn.4\nn.5", "select mbus4.post('n', '', iid => 'n.' || i) from generate_series(1, 5) i"),
			alike("n.1\nn.2", "select iid from mbus4.consumen_n_by_default(2)"),
			alike("", "select iid from mbus4.consumen_n_by_default(0)"),
			alike("error 2201W", "select iid from mbus4.consumen_n_by_default(-1)"),
			alike("n.3\nn.4\nn.5", "select iid from mbus4.consumen_n_by_default(null)"),
		}},
		{"what is not shown is gone", []step{
			alike("", "select mbus4.create_queue('w', 1)"),
			alike("w.1\nw.2\nw.3\nw.4\nw.5\nw.6", "select mbus4.post('w', hstore('n', i::text), iid => 'w.' || i) from generate_series(1, 6) i"),
			alike("", "select iid from mbus4.consume('w') where data->'n' = '4'"),
			alike("", "select iid from mbus4.consume('w') limit 0"), // which runs nothing
			alike("w.2", "select iid from mbus4.consumen_w_by_default(3) limit 1"),
			alike("w.5\nw.6", "select iid from mbus4.consumen_w_by_default(9)"),
		}},
		{"forms that leave it", []step{
			alike("w.7\nw.8\nw.9", "select mbus4.post('w', hstore('n', i::text), iid => 'w.' || i) from generate_series(7, 9) i"),
			alike("w.8", "select iid from mbus4.dyn_consume('w', $$data->'n' = '8'$$)"),
			alike("w.7", "select iid from mbus4.consumen_w_by_default(1)"),
			alike("w.9", "select iid from mbus4.consumen_w_by_default(9)"),
		}},
	})
}

// Identities: what they look like, and what may be posted under them.
func TestCompatibilityIdentities(t *testing.T) {
	runScenarios(t, []scenario{
		{"fresh ones", []step{
			alike("", "select mbus4.create_queue('i', 1)"),
			alike("t", `select mbus4.generate_new_msgiid('anything') ~ '^anything\..*[0-9]$'`),
			alike("∅", `select mbus4.generate_new_msgiid(null)`),
			alike("t", `select mbus4.post('i', '') ~ '^i\..*[0-9]$'`),
			unlike("f", "t", `select mbus4.post('i', '') ~ '^i\.[0-9]+$'`),
			alike("t", `select mbus4.post('dmq', 'a=>1') ~ '^dmq\..*'`),
			alike("t", "select iid like 'dmq.%' from mbus4.consume_dmq()"),
			alike("2", "select count(*) from mbus4.consumen_i_by_default(null)"),
		}},
		{"given ones", []step{
			alike("i.a", "select mbus4.post_i('', iid => 'i.a')"),
			alike("error 23505", "select mbus4.post('i', '', iid => 'i.a')"),
			alike("dmq.a", "select mbus4.post('i', '', iid => 'dmq.a')"),
			unlike("foreign", "error P0001", "select mbus4.post('i', '', iid => 'foreign')"),
			unlike("i.a\ndmq.a\nforeign", "i.a\ndmq.a", "select iid from mbus4.consumen_i_by_default(9)"),
		}},
		{"put back in the same transaction", []step{
			alike("i.b", "select mbus4.post('i', 'n=>1', iid => 'i.b')"),
			alike("", "begin"),
			alike("i.b", "select mbus4.post('i', data, headers, properties, '2001-01-01', expires, iid) from mbus4.consume('i')"),
			alike("", "commit"),
			alike("i.b|t", "select iid, (headers->'seenby')::text[] = array[current_database()::text, current_database()::text] from mbus4.consume('i')"),
		}},
		{"put back while another still has its own", []step{
			alike("", "select mbus4.create_consumer('slow', 'i')"),
			alike("i.c", "select mbus4.post('i', 'n=>1', iid => 'i.c')"),
			unlike("i.c", "error 23505", "select mbus4.post('i', data, iid => iid) from mbus4.consume('i')"),
			alike("i.c", "select iid from mbus4.consume('i', 'slow')"),
			alike("i.c", "select iid from mbus4.consume('i')"),
		}},
	})
}

// The functions that are about one message, and what they say of one that is not there.
func TestCompatibilityOneMessage(t *testing.T) {
	runScenarios(t, []scenario{
		{"there", []step{
			alike("", "select mbus4.create_queue('m', 1)"),
			alike("f|f", "select mbus4.peek_m(), mbus4.peek_m(null)"),
			alike("m.1", "select mbus4.post('m', '', delayed_until => '2999-01-01', iid => 'm.1')"),
			alike("t|t|t|f", "select mbus4.peek_m(), mbus4.peek_m(null), mbus4.peek_m('m.1'), mbus4.peek_m('m.2')"),
			alike("t|f|f", "select mbus4.is_msg_exists('m.1'), mbus4.is_msg_exists('m.2'), mbus4.is_msg_exists(null)"),
			alike("m.1", "select iid from mbus4.peek('m.1')"),
			alike("m.1", "select iid from mbus4.take('m.1')"),
		}},
		{"not there", []step{
			alike("∅", "select iid from mbus4.peek('m.9')"),
			alike("∅", "select iid from mbus4.peek(null)"),
			alike("∅", "select iid from mbus4.take('m.9')"),
			unlike("∅", "error 20000", "select iid from mbus4.take('nowhere.9')"),
			unlike("∅", "error 20000", "select iid from mbus4.take(null)"),
			unlike("∅", "(,,,,,,,,)", "select mbus4.take('m.9')"),
			alike("t", "select mbus4.take('m.9') is null"),
			alike("∅", "select iid from mbus4.take_from_m_by_default('m.9')"),
			alike("∅", "select iid from mbus4.take_from_m_by_default(null)"),
		}},
		{"expired", []step{
			alike("m.5", "select mbus4.post('m', '', expires => '2001-01-01', iid => 'm.5')"),
			unlike("f|f|f", "t|t|t", "select mbus4.peek_m(), mbus4.peek_m('m.5'), mbus4.is_msg_exists('m.5')"),
			unlike("∅", "m.5", "select iid from mbus4.peek('m.5')"),
			alike("", "select iid from mbus4.consume('m')"),
			alike("", "select mbus4.clear_queue_m()"),
			alike("∅", "select iid from mbus4.peek('m.5')"),
			alike("m.6", "select mbus4.post('m', '', iid => 'm.6')"),
			alike("", "select mbus4.clear_queue_m()"),
			unlike("m.6", "", "select iid from mbus4.consume('m')"),
		}},
		{"posted in the same statement", []step{
			alike("m.7", "select mbus4.post('m', '', iid => 'm.7')"),
			unlike("m.8|f|f", "m.8|t|t", "select mbus4.post('m', '', iid => 'm.8'), mbus4.is_msg_exists('m.8'), mbus4.peek_m('m.8')"),
			alike("m.7\nm.8", "select iid from mbus4.consumen_m_by_default(9)"),
		}},
		{"unknown queues and consumers", []step{
			unlike("error 42704", "error P0001", "select mbus4.post('nowhere', '')"),
			unlike("error 42704", "error P0001", "select mbus4.post(null, '')"),
			unlike("error 42704", "error P0001", "select * from mbus4.consume('nowhere')"),
			unlike("error 42704", "error P0001", "select * from mbus4.consume(null)"),
			unlike("error 42704", "error 42703", "select * from mbus4.consume('m', 'nobody')"),
			unlike("error 42704", "error 22004", "select * from mbus4.dyn_consume('nowhere')"),
			alike("error 42883", "select mbus4.postt('m', '')"),
			unlike("t", "error 42883", "select mbus4.post('m', '', delayed_until => now()) is not null"),
		}},
	})
}

// Messages that wait for others.
func TestCompatibilityOrder(t *testing.T) {
	runScenarios(t, []scenario{
		{"across queues", []step{
			alike("", "select mbus4.create_queue('first', 1)"),
			alike("", "select mbus4.create_queue('second', 1)"),
			alike("first.1", "select mbus4.post('first', '', iid => 'first.1')"),
			alike("second.1", `select mbus4.post('second', '', 'consume_after=>"{first.1}"', iid => 'second.1')`),
			alike("", "select iid from mbus4.consume('second')"),
			alike("first.1", "select iid from mbus4.consume('first')"),
			eventually("select exists (select from mbus4.consume('second'))"),
		}},
		{"for dyn_consume", []step{
			alike("first.0", "select mbus4.post('first', '', iid => 'first.0')"),
			alike("second.0", `select mbus4.post('second', '', 'consume_after=>"{first.0}"', iid => 'second.0')`),
			unlike("", "second.0", "select iid from mbus4.dyn_consume('second')"),
			alike("first.0", "select iid from mbus4.take('first.0')"),
			unlike("second.0", "∅", "select iid from mbus4.take('second.0')"),
		}},
		{"nothing to wait for", []step{
			alike("second.2", `select mbus4.post('second', '', 'consume_after=>"{NULL}"', iid => 'second.2')`),
			alike("second.2", "select iid from mbus4.consume('second')"),
			alike("second.3", `select mbus4.post('second', '', 'consume_after=>"{nowhere.1}"', iid => 'second.3')`),
			alike("second.3", "select iid from mbus4.consume('second')"),
			alike("second.4", `select mbus4.post('second', '', 'consume_after=>"{}"', iid => 'second.4')`),
			unlike("second.4", "", "select iid from mbus4.consume('second')"),
		}},
		{"by when a message is due", []step{
			alike("", "select mbus4.create_queue('due', 1)"),
			alike("due.1", "select mbus4.post('due', '', delayed_until => (clock_timestamp() + '2 s')::timestamp, iid => 'due.1')"),
			alike("due.2", "select mbus4.post('due', '', iid => 'due.2')"),
			eventually("select (mbus4.peek('due.1')).delayed_until < now()::timestamp"),
			unlike("due.2\ndue.1", "due.1\ndue.2", "select iid from mbus4.consumen_due_by_default(9)"),
		}},
		{"for what has expired", []step{
			alike("first.2", "select mbus4.post('first', '', expires => '2001-01-01', iid => 'first.2')"),
			alike("second.5", `select mbus4.post('second', '', 'consume_after=>"{first.2}"', iid => 'second.5')`),
			unlike("second.5", "", "select iid from mbus4.consume('second')"),
		}},
	})
}
