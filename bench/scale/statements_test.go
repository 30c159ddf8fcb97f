package main

import "strings"

// statement is one that a client sends, with what it may touch.
type statement struct {
	label string
	sql   string
	pages float64 // at most, of what it runs; 0: usualPages
}

// usualPages leaves room for the catalogs that a new session reads and for a row in each of the indexes, and none for reading a table.
const usualPages = 250

// statements are calls of every kind, of a queue in the state (own) and of another.
func statements() []statement {
	var out []statement
	for _, q := range []string{own, other} {
		for _, s := range []statement{
			{"post", "select mbus4.post('QUEUE', 'n=>1')", 0},
			{"post_q", "select mbus4.post_QUEUE('n=>1')", 0},
			{"post, iid", "select mbus4.post('QUEUE', 'n=>1', iid => 'new')", 0},
			{"post, headers", "select mbus4.post('QUEUE', 'n=>1', 'kind=>order')", 0},
			{"post, delayed", "select mbus4.post('QUEUE', 'n=>1', delayed_until => localtimestamp + interval '1 hour', expires => localtimestamp + interval '2 hours')", 0},
			{"post, consume_after", "select mbus4.post('QUEUE', 'n=>1', 'consume_after=>\"{gate,nowhere}\"')", 0},
			{"post, in place", "select case when true then mbus4.post('QUEUE', 'n=>1') end", 0},
			{"posts", "select count(p) from (select mbus4.post('QUEUE', 'n=>1') as p from generate_series(1, 20) g) s", 0},
			{"posts, iid", "select count(p) from (select mbus4.post('QUEUE', 'n=>1', iid => 'new' || g) as p from generate_series(1, 20) g) s", 1000},
			{"posts, consume_after", "select count(p) from (select mbus4.post('QUEUE', 'n=>1', 'consume_after=>{gate}') as p from generate_series(1, 20) g) s", 1000},
			{"consume", "select * from mbus4.consume('QUEUE')", 0},
			{"consume_q", "select * from mbus4.consume_QUEUE_by_default()", 0},
			{"consume, in place", "select q, mbus4.consume(q) from (values ('QUEUE'), ('QUEUE')) v (q)", 0},
			{"consumen", "select * from mbus4.consumen('QUEUE', amt => 20)", 0},
			{"dyn_consume", "select * from mbus4.dyn_consume('QUEUE', 't.data is not null')", 0},
			{"dyn_consume, in place", "select q, mbus4.dyn_consume(q, 't.data is not null' || left(q, 0)) from (values ('QUEUE')) v (q)", 0},
			{"estimated_messages", "select mbus4.estimated_messages('QUEUE')", 600}, // a thousand of its messages, and a sample
			{"peek_q", "select mbus4.peek_QUEUE(), mbus4.peek_QUEUE('nowhere')", 0},
			{"take_from_q", "select (mbus4.take_from_QUEUE_by_default('nowhere')).iid", 0},
			{"create_consumer", "select mbus4.create_consumer('QUEUE', 'x')", 0},
			{"drop_consumer", "select mbus4.drop_consumer('QUEUE', 'default')", 0},
			{"create_trigger", "select mbus4.create_trigger('gate', 'QUEUE')", 0},
			{"create_temporary_consumer", "select mbus4.create_temporary_consumer('QUEUE')", 0},
		} {
			s.label, s.sql = s.label+" of "+q, strings.ReplaceAll(s.sql, "QUEUE", q)
			out = append(out, s)
		}
	}
	return append(out, []statement{
		{"clear_queue", "select mbus4.clear_queue_other()", 0},
		{"consume_dmq", "select * from mbus4.consume('dmq')", 0},
		{"take", "select (mbus4.take('nowhere')).iid, (mbus4.take('other.' || current_database() || '.17000000000000001')).iid", 0},
		{"take the gate", "select (mbus4.take('gate')).iid", 3000}, // wakes a hundred
		{"peek", "select (mbus4.peek('gate')).iid, mbus4.is_msg_exists('gate'), mbus4.is_msg_exists('nowhere')", 0},
		{"generate_new_msgiid", "select mbus4.generate_new_msgiid('other')", 0},
		{"create_queue", "select mbus4.create_queue('new', 1)", 0},
		{"drop_queue", "select mbus4.drop_queue('other')", 0},
		{"create_temporary_queue", "select mbus4.create_temporary_queue()", 0},
		{"add_message", "select mbus4.add_message('{}')", 0},
		{"get_next_message", "select * from mbus4.get_next_message(1)", 0},
		{"get_next_message, in place", "select mbus4.get_next_message(p) from (values (1), (2)) v (p)", 0},
		{"complete_message", "select mbus4.complete_message(-1)", 0},
		{"release_messages", "select mbus4.release_messages(-1)", 0},
		{"semaphore_get_or_create", "select * from mbus4.semaphore_get_or_create('s')", 0},
		{"semaphore_update", "select mbus4.semaphore_update('s', 100, 10)", 0},
		{"semaphore_enqueue", "select mbus4.semaphore_enqueue('s', 1, 1)", 0},
		{"semaphore_enqueue, many", "select mbus4.semaphore_enqueue('s', g, 1) from generate_series(1, 20) g", 600},
		{"semaphore_release", "select mbus4.semaphore_release('s', 1)", 0},
		{"selector_errors", "select count(*) from mbus4.selector_errors", 0},
		{"waiting_in_circle", "select count(*) from mbus4.waiting_in_circle", 0},
	}...)
}
