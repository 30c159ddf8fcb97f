package main

import (
	"fmt"
	"strings"
)

// statement is one that a client sends, with what it may touch.
type statement struct {
	label string
	sql   string
	pages float64 // at most, of what it runs; 0: usualPages
	value string  // of $1, a bigint; "": there is none
	alone bool    // what its functions run is not told of: there is too much of it
}

// usualPages leaves room for the catalogs that a new session reads and for a row in each of the
// indexes, and none for reading a table.
const usualPages = 250

// statements are calls of every kind, of a queue in the state (own) and of another.
func statements() []statement {
	var out []statement
	for _, q := range []string{own, other} {
		for _, s := range []statement{
			{"post", "select mbus4.post('QUEUE', 'n=>1')", 0, "", false},
			{"post_q", "select mbus4.post_QUEUE('n=>1')", 0, "", false},
			{"post, iid", "select mbus4.post('QUEUE', 'n=>1', iid => 'new')", 0, "", false},
			{"post, headers", "select mbus4.post('QUEUE', 'n=>1', 'kind=>order')", 0, "", false},
			{"post, delayed", "select mbus4.post('QUEUE', 'n=>1', delayed_until => localtimestamp + interval '1 hour', expires => localtimestamp + interval '2 hours')", 0, "", false},
			{"post, consume_after", "select mbus4.post('QUEUE', 'n=>1', 'consume_after=>\"{gate,nowhere}\"')", 0, "", false},
			{"post, payload", "select mbus4.post('QUEUE', payload => '{\"n\": 1}')", 0, "", false},
			{"consume_json", "select * from mbus4.consume_json('QUEUE', amt => 20)", 0, "", false},
			{"post, in place", "select case when true then mbus4.post('QUEUE', 'n=>1') end", 0, "", false},
			{"posts", "select count(p) from (select mbus4.post('QUEUE', 'n=>1') as p from generate_series(1, 20) g) s", 0, "", false},
			{"posts, iid", "select count(p) from (select mbus4.post('QUEUE', 'n=>1', iid => 'new' || g) as p from generate_series(1, 20) g) s", 1000, "", false},
			{"posts, consume_after", "select count(p) from (select mbus4.post('QUEUE', 'n=>1', 'consume_after=>{gate}') as p from generate_series(1, 20) g) s", 1000, "", false},
			{"consume", "select * from mbus4.consume('QUEUE')", 0, "", false},
			{"consume_q", "select * from mbus4.consume_QUEUE_by_default()", 0, "", false},
			{"consume, in place", "select q, mbus4.consume(q) from (values ('QUEUE'), ('QUEUE')) v (q)", 0, "", false},
			{"consumen", "select * from mbus4.consumen('QUEUE', amt => 20)", 0, "", false},
			{"dyn_consume", "select * from mbus4.dyn_consume('QUEUE', 't.data is not null')", 0, "", false},
			{"post, unique", "select mbus4.post('QUEUE', 'n=>1', unique_key => 'k', unique_for => '1 hour')", 0, "", false},
			{"pause_queue", "select mbus4.pause_queue('QUEUE')", 0, "", false},
			{"resume_queue", "select mbus4.resume_queue('QUEUE')", 0, "", false},
			{"lease", "select * from mbus4.lease('QUEUE')", 0, "", false},
			{"lease, many", "select * from mbus4.lease('QUEUE', amt => 20, lease => '1 min')", 0, "", false},
			{"lease, in place", "select q, mbus4.lease(q) from (values ('QUEUE'), ('QUEUE')) v (q)", 0, "", false},
			{"lease and retry", "select mbus4.retry(l.lease, 'x') from mbus4.lease('QUEUE') l", 0, "", false},
			{"lease and fail", "select mbus4.fail(l.lease, 'x') from mbus4.lease('QUEUE') l", 0, "", false},
			{"lease and extend", "select mbus4.extend(l.lease, '1 min') from mbus4.lease('QUEUE') l", 0, "", false},
			{"consume and retry", "select mbus4.retry(m, 'x') from mbus4.consume('QUEUE') m", 1200, "", false}, // a new session reads what its function needs of the catalogs
			{"alter_consumer", "select mbus4.alter_consumer('QUEUE', max_attempts => 5)", 0, "", false},
			{"dyn_consume, in place", "select q, mbus4.dyn_consume(q, 't.data is not null' || left(q, 0)) from (values ('QUEUE')) v (q)", 0, "", false},
			{"estimated_messages", "select mbus4.estimated_messages('QUEUE')", 600, "", false}, // a thousand of its messages, and a sample
			{"peek_q", "select mbus4.peek_QUEUE(), mbus4.peek_QUEUE('nowhere')", 0, "", false},
			{"messages_of", "select count(*) from mbus4.messages_of('QUEUE', amt => 20)", 0, "", false},
			{"messages_of, delayed", "select count(*) from mbus4.messages_of('QUEUE', state => 'delayed', amt => 20)", 0, "", false},
			{"messages_of, waiting", "select count(*) from mbus4.messages_of('QUEUE', state => 'waiting', amt => 20)", 0, "", false},
			{"take_from_q", "select (mbus4.take_from_QUEUE_by_default('nowhere')).iid", 0, "", false},
			{"create_consumer", "select mbus4.create_consumer('QUEUE', 'x')", 0, "", false},
			{"drop_consumer", "select mbus4.drop_consumer('QUEUE', 'default')", 0, "", false},
			{"create_trigger", "select mbus4.create_trigger('gate', 'QUEUE')", 0, "", false},
			{"create_temporary_consumer", "select mbus4.create_temporary_consumer('QUEUE')", 0, "", false},
		} {
			s.label, s.sql = s.label+" of "+q, strings.ReplaceAll(s.sql, "QUEUE", q)
			out = append(out, s)
		}
	}
	return append(out, []statement{
		{"clear_queue", "select mbus4.clear_queue_other()", 0, "", false},
		{"schedule", "select mbus4.schedule('daily', '@daily', 'other', 'n=>1')", 0, "", false},
		{"unschedule", "select mbus4.unschedule('daily')", 0, "", false},
		{"consume_dmq", "select * from mbus4.consume('dmq')", 0, "", false},
		{"ack", "select mbus4.ack('2.1.1.1700000000000000'), mbus4.extend('2.1.1.1700000000000000')", 0, "", false},
		{"acks", "select count(a) from (select mbus4.ack(g || '.1.1.1700000000000000') as a from generate_series(1, 20) g) s", 0, "", false},
		{"ack, parameter", "select mbus4.ack($1::bigint || '.1.1.1700000000000000')", 0, "2", false},
		{"redrive", "select mbus4.redrive(amt => 5)", 0, "", false},
		{"take", "select (mbus4.take('nowhere')).iid, (mbus4.take('other.' || current_database() || '.17000000000000001')).iid", 0, "", false},
		{"take the gate", "select (mbus4.take('gate')).iid", 3000, "", false}, // wakes a hundred
		{"peek", "select (mbus4.peek('gate')).iid, mbus4.is_msg_exists('gate'), mbus4.is_msg_exists('nowhere')", 0, "", false},
		{"generate_new_msgiid", "select mbus4.generate_new_msgiid('other')", 0, "", false},
		{"create_queue", "select mbus4.create_queue('new', 1)", 0, "", false},
		{"drop_queue", "select mbus4.drop_queue('other')", 0, "", false},
		{"create_temporary_queue", "select mbus4.create_temporary_queue()", 0, "", false},
		{"add_message", "select mbus4.add_message('{}')", 0, "", false},
		{"get_next_message", "select * from mbus4.get_next_message(1)", 0, "", false},
		{"get_next_message, in place", "select mbus4.get_next_message(p) from (values (1), (2)) v (p)", 0, "", false},
		{"complete_message", "select mbus4.complete_message(-1)", 0, "", false},
		{"complete_message, parameter", "select mbus4.complete_message($1::bigint)", 0, "-1", false},
		{"semaphore_enqueue, parameter", "select mbus4.semaphore_enqueue('s', $1::bigint, 1)", 0, "1", false},
		{"semaphore_release, parameter", "select mbus4.semaphore_release('s', $1::bigint)", 0, "1", false},
		{"release_messages", "select mbus4.release_messages(-1)", 0, "", false},
		{"semaphore_get_or_create", "select * from mbus4.semaphore_get_or_create('s')", 0, "", false},
		{"semaphore_update", "select mbus4.semaphore_update('s', 100, 10)", 0, "", false},
		{"semaphore_enqueue", "select mbus4.semaphore_enqueue('s', 1, 1)", 0, "", false},
		{"semaphore_enqueue, many", "select mbus4.semaphore_enqueue('s', g, 1) from generate_series(1, 20) g", 600, "", false},
		{"semaphore_release", "select mbus4.semaphore_release('s', 1)", 0, "", false},
		{"queues", "select count(*) from (select * from mbus4.queues offset 0) q", 2500, "", false},
		{"consumers", "select count(*) from (select * from mbus4.consumers offset 0) c", 2500, "", false},
		{"why", "select count(*) from mbus4.why('nowhere')", 0, "", false},
		{"rates", "select count(*) from (select * from mbus4.rates offset 0) r", 0, "", false},
		{"selector_errors", "select count(*) from mbus4.selector_errors", 0, "", false},
	}...)
}

// text is the statement as the simple protocol has it.
func (s statement) text() string { return strings.ReplaceAll(s.sql, "$1", s.value) }

// prepare prepares the statement, and execute runs it.
func (s statement) prepare(number int) string { return fmt.Sprintf("prepare s%d as %s", number, s.sql) }

func (s statement) execute(number int) string {
	if s.value == "" {
		return fmt.Sprintf("execute s%d", number)
	}
	return fmt.Sprintf("execute s%d (%s)", number, s.value)
}
