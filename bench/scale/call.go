package main

import "strings"

// call is something that a client does again and again: statements one after another, each in a transaction of its own.
type call struct {
	name   string
	steps  []string // with QUEUE; a step with $1 is given a number that no other call has, one with $2 what the step before gave
	takes  bool     // a message that must be there
	simple bool     // by the simple protocol, $1 and $2 as text in it: each is another text
	// none: the call is of no queue, so there is no own one.
	none bool
}

const (
	bulk      = " from generate_series(1, 100) g) s"
	afterGate = "'consume_after=>{gate}'"
)

// calls are all, in the order in which they are measured: those whose cost depends on what others leave first.
func calls() []*call {
	return []*call{
		{name: "estimated_messages", steps: []string{"select mbus4.estimated_messages('QUEUE')"}},
		{name: "consume", steps: []string{"select * from mbus4.consume('QUEUE')"}, takes: true},
		{name: "dyn_consume", steps: []string{"select * from mbus4.dyn_consume('QUEUE', 't.data is not null')"}, takes: true},
		{name: "post", steps: []string{"select mbus4.post('QUEUE', 'n=>1')"}},
		{name: "post, simple", steps: []string{"select mbus4.post('QUEUE', 'n=>$1')"}, simple: true},
		{name: "post, iid", steps: []string{"select mbus4.post('QUEUE', 'n=>1', iid => $1::text)"}},
		{name: "post, headers", steps: []string{"select mbus4.post('QUEUE', 'n=>1', 'kind=>order')"}},
		{name: "post, consume_after", steps: []string{"select mbus4.post('QUEUE', 'n=>1', " + afterGate + ")"}},
		{name: "100 posts", steps: []string{"select count(p) from (select mbus4.post('QUEUE', 'n=>1') as p" + bulk}},
		{name: "100 posts, iid", steps: []string{"select count(p) from (select mbus4.post('QUEUE', 'n=>1', iid => $1::text || '.' || g) as p" + bulk}},
		{name: "100 posts, headers", steps: []string{"select count(p) from (select mbus4.post('QUEUE', 'n=>1', 'kind=>order') as p" + bulk}},
		{name: "100 posts, consume_after", steps: []string{"select count(p) from (select mbus4.post('QUEUE', 'n=>1', " + afterGate + ") as p" + bulk}},
		{
			name: "work queue", none: true,
			steps: []string{"select mbus4.add_message('{}')", "select id from mbus4.get_next_message(1)", "select mbus4.complete_message($2::bigint)"},
		},
		{
			name: "semaphore", none: true,
			steps: []string{"select mbus4.semaphore_enqueue('s', $1::bigint, 1)", "select mbus4.semaphore_release('s', $1::bigint)"},
		},
	}
}

// of is a step for a queue.
func of(step, queue string) string { return strings.ReplaceAll(step, "QUEUE", queue) }
