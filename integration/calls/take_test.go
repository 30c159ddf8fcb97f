package calls

import "testing"

func TestFunctionTake(t *testing.T) {
	const signature = "mbus4.take(msgid text, wait interval default null) returns mbus4.qt_model"
	callTable{
		queues: []string{"q", "r"}, before: threePosted, effect: threeLeft, columns: messageColumns,
		cases: []callCase{
			gives("∅|∅|∅|∅|∅|∅|∅|∅|∅ > m1m2m3 m1m2m3", "select * from mbus4.take('none')"),
			gives(`m2|"n"=>"2"|q > m1m3 m1m3`, "select iid, data, headers->'destination' from mbus4.take($1)", "m2"),
			gives("m2 > m1m3 m1m3", "select iid from mbus4.take(msgid => $1)", "m2"),
			gives("m2 > m1m3 m1m3", "select (mbus4.take(msgid := $1::text)).iid", "m2"),
			gives("∅ > m1m2m3 m1m2m3", "select iid from mbus4.take($1)", nil),
			gives("∅ > m1m2m3 m1m2m3", "select mbus4.take('none')"),
			gives("m3|m3\nx|∅\nr1|r1 > m1m2 m1m2", "select i, (mbus4.take(i)).iid from unnest(array['m3', 'x', 'r1']) i"),
			fails("42883", signature, "select * from mbus4.take()"),
			fails("42883", signature, "select * from mbus4.take('m1', '1s', 'm2')"),
			fails("42883", signature, "select * from mbus4.take(iid => 'm1')"),
			fails("42883", signature, "select * from mbus4.take(1)"),
		},
	}.run(t)
}

func TestFunctionTakeFrom(t *testing.T) {
	const signature = "mbus4.take_from_q_by_c(msgid text, wait interval default null) returns mbus4.qt_model"
	callTable{
		queues: []string{"q", "r"}, before: threePosted, effect: threeLeft, columns: messageColumns,
		cases: []callCase{
			gives("∅|∅|∅|∅|∅|∅|∅|∅|∅ > m1m2m3 m1m2m3", "select * from mbus4.take_from_q_by_default('none')"),
			gives(`m2|"n"=>"2"|q > m1m2m3 m1m3`, "select iid, data, headers->'destination' from mbus4.take_from_q_by_c($1)", "m2"),
			gives("m2 > m1m3 m1m2m3", "select iid from mbus4.take_from_q_by_default(msgid => $1)", "m2"),
			gives("m2 > m1m3 m1m2m3", `select (mbus4."take_from_Q_by_default"(msgid := $1::text)).iid`, "m2"),
			gives("∅ > m1m2m3 m1m2m3", "select iid from mbus4.take_from_q_by_c($1)", nil),
			gives("∅ > m1m2m3 m1m2m3", "select iid from mbus4.take_from_q_by_c($1)", "r1"), // of another queue
			gives("m3|m3\nx|∅ > m1m2m3 m1m2", "select i, (mbus4.take_from_q_by_c(i)).iid from unnest(array['m3', 'x']) i"),
			fails("42704", `queue "nowhere" does not exist`, "select * from mbus4.take_from_nowhere_by_c('m1')"),
			fails("42704", `queue "q" has no consumer "nobody"`, "select * from mbus4.take_from_q_by_nobody('m1')"),
			fails("42883", signature, "select * from mbus4.take_from_q_by_c()"),
			fails("42883", signature, "select * from mbus4.take_from_q_by_c('m1', '1s', 'm2')"),
			fails("42883", signature, "select * from mbus4.take_from_q_by_c(iid => 'm1')"),
			fails("42883", signature, "select * from mbus4.take_from_q_by_c(1)"),
		},
	}.run(t)
}

func TestFunctionPeek(t *testing.T) {
	const signature = "mbus4.peek(msgid text) returns mbus4.qt_model"
	callTable{
		queues: []string{"q", "r"}, before: threePosted, effect: threeLeft, columns: messageColumns,
		cases: []callCase{
			gives("∅|∅|∅|∅|∅|∅|∅|∅|∅ > m1m2m3 m1m2m3", "select * from mbus4.peek('none')"),
			gives(`m2|"n"=>"2"|q > m1m2m3 m1m2m3`, "select iid, data, headers->'destination_queue' from mbus4.peek($1)", "m2"),
			gives("m2 > m1m2m3 m1m2m3", "select iid from mbus4.peek(msgid => $1)", "m2"),
			gives("m2 > m1m2m3 m1m2m3", "select (mbus4.peek(msgid := $1::text)).iid", "m2"),
			gives("∅ > m1m2m3 m1m2m3", "select (mbus4.peek($1)).iid", nil),
			gives("m3|m3\nx|∅\nr1|r1 > m1m2m3 m1m2m3", "select i, (mbus4.peek(i)).iid from unnest(array['m3', 'x', 'r1']) i"),
			gives("m3 > m1m2m3 m1m2m3", "select i from unnest(array['m3', 'x']) i where (mbus4.peek(i)).iid = i"),
			fails("42883", signature, "select mbus4.peek()"),
			fails("42883", signature, "select mbus4.peek('m1', 'm2')"),
			fails("42883", signature, "select mbus4.peek(iid => 'm1')"),
			fails("42883", signature, "select mbus4.peek(1)"),
		},
	}.run(t)
}

func TestFunctionPeekQueue(t *testing.T) {
	const signature = "mbus4.peek_q(msgid text default null) returns boolean"
	callTable{
		queues: []string{"q", "r", "empty"}, before: threePosted, columns: "peek_q boolean",
		cases: []callCase{
			gives("t", "select mbus4.peek_q()"),
			gives("t|f|f", "select mbus4.peek_q($1), mbus4.peek_empty($1), mbus4.peek_q($2)", "m1", "x"),
			gives("t|f", "select mbus4.peek_q(msgid => $1), mbus4.peek_r(msgid := $1)", "m1"),
			gives("t|f", "select mbus4.peek_q($1), mbus4.peek_empty($1)", nil),
			gives("t|f", `select mbus4."peek_Q"($1::text), mbus4.peek_dmq()`, "m3"),
			gives("m1|t\nx|f", "select i, mbus4.peek_q(i) from unnest(array['m1', 'x']) i"),
			gives("m1", "select i from unnest(array['m1', 'x']) i where mbus4.peek_q(i)"),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.peek_nowhere()"),
			fails("42883", signature, "select mbus4.peek_q('a', 'b')"),
			fails("42883", signature, "select mbus4.peek_q(iid => 'm1')"),
			fails("42883", signature, "select mbus4.peek_q(1)"),
		},
	}.run(t)
}

func TestFunctionIsMsgExists(t *testing.T) {
	const signature = "mbus4.is_msg_exists(msgid text) returns boolean"
	callTable{
		queues: []string{"q", "r"}, columns: "is_msg_exists boolean",
		before: threePosted + "; select mbus4.post_dmq('a=>1', iid => 'dead'); select mbus4.post('q', 'a=>1', expires => '2001-01-01', iid => 'old');" +
			"select mbus4.post('q', 'a=>1', delayed_until => '2999-01-01', iid => 'late')",
		cases: []callCase{
			gives("t", "select mbus4.is_msg_exists('m1')"),
			gives("t|f|t|f|t", "select mbus4.is_msg_exists($1), mbus4.is_msg_exists($2), mbus4.is_msg_exists('dead'), mbus4.is_msg_exists('old'), mbus4.is_msg_exists('late')", "m1", "x"),
			gives("t", "select mbus4.is_msg_exists(msgid => $1)", "m1"),
			gives("t", "select mbus4.is_msg_exists(msgid := $1::text)", "m1"),
			gives("f", "select mbus4.is_msg_exists($1)", nil),
			gives("m1|t\nx|f", "select i, mbus4.is_msg_exists(i) from unnest(array['m1', 'x']) i"),
			gives("x", "select i from unnest(array['m1', 'x']) i where not mbus4.is_msg_exists(i)"),
			fails("42883", signature, "select mbus4.is_msg_exists()"),
			fails("42883", signature, "select mbus4.is_msg_exists('a', 'b')"),
			fails("42883", signature, "select mbus4.is_msg_exists(iid => 'm1')"),
			fails("42883", signature, "select mbus4.is_msg_exists(1)"),
		},
	}.run(t)
}
