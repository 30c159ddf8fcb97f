package integration

import (
	"fmt"
	"testing"
)

// Each statement gets the first message of q for its consumer.
func TestConsumeNotations(t *testing.T) {
	t.Parallel()
	cases := []step{
		do("select iid from mbus4.consume('q')"),
		do("select iid from mbus4.consume($1)", "q"),
		do("select iid from mbus4.consume('q', 'default')"),
		do("select iid from mbus4.consume($1, $2)", "q", "default"),
		do("select iid from mbus4.consume(qname => $1)", "q"),
		do("select iid from mbus4.consume(cname => 'default', qname := 'q')"),
		do("select iid from mbus4.consume('q', cname => $1)", "default"),
		do("select iid from mbus4.consume('Q', 'DEFAULT')"),
		do("select iid from MBUS4.CONSUME('q')"),
		do(`select iid from "mbus4"."consume"('q')`),
		do("select iid from mbus4.consume_q_by_default()"),
		do("select iid from mbus4.Consume_Q_by_Default ( )"),
		do("select iid from mbus4.consumen('q')"),
		do("select iid from mbus4.consumen($1, $2, $3)", "q", "default", 1),
		do("select iid from mbus4.consumen('q', amt => 1)"),
		do("select iid from mbus4.consumen(amt := $1, qname := $2)", 1, "q"),
		do("select iid from mbus4.consumen('q', 'default', $1::int)", 1),
		do("select iid from mbus4.consumen_q_by_default(1)"),
		do("select iid from mbus4.consumen_q_by_default($1)", 1),
		do("select iid from mbus4.consumen_q_by_default(amt => $1)", 1),
		do("select iid from mbus4.take('m')"),
		do("select iid from mbus4.take($1)", "m"),
		do("select iid from mbus4.take(msgid => $1)", "m"),
		do("select iid from mbus4.take_from_q_by_default($1)", "m"),
		do("select iid from mbus4.take_from_q_by_default(msgid := $1)", "m"),
		do("select (mbus4.take($1)).iid", "m"),
		do("select (mbus4.take_from_q_by_default($1)).iid", "m"),
		do("select (mbus4.consume($1)).iid", "q"),
		do("select (mbus4.consume_q_by_default()).iid"),
	}
	forEachForm(t, []string{"q"}, func(t *testing.T, s *session) {
		for _, c := range cases {
			s.want(t, "m", "select mbus4.post('q', 'a=>1', iid => 'm')")
			s.want(t, "n", "select mbus4.post('q', 'a=>1', iid => 'n')")
			s.want(t, "m", c.sql, c.args...)
			s.want(t, "n", "select iid from mbus4.consumen('q', amt => 9)")
		}
	})
}

// Reading calls leave the message where it is.
func TestPeek(t *testing.T) {
	t.Parallel()
	forEachForm(t, []string{"q", "empty"}, func(t *testing.T, s *session) {
		s.want(t, "m", "select mbus4.post('q', 'a=>1', iid => 'm')")
		s.want(t, "t|t|f|f|f|t", `select mbus4.peek_q(), mbus4.peek_q('m'), mbus4.peek_q(msgid => 'other'),
			mbus4.peek_empty(), mbus4.peek_empty('m'), mbus4.Peek_Q(null)`)
		s.want(t, "t", "select mbus4.peek_q($1)", "m")
		s.want(t, "t|f", "select mbus4.is_msg_exists($1), mbus4.is_msg_exists(msgid => $2)", "m", "other")
		s.want(t, `m|"a"=>"1"`, "select iid, data from mbus4.peek($1)", "m")
		s.want(t, "m", "select (mbus4.peek(msgid => $1)).iid", "m")
		s.want(t, "∅|∅", "select iid, data from mbus4.peek($1)", "other")
		s.want(t, "m", "select iid from mbus4.consume('q')")
		s.want(t, "f|f", "select mbus4.peek_q(), mbus4.is_msg_exists('m')")
	})
}

// First in, first out; amt is an upper limit.
func TestOrderAndAmount(t *testing.T) {
	t.Parallel()
	forEachForm(t, []string{"q"}, func(t *testing.T, s *session) {
		for n := range 10 {
			s.want(t, fmt.Sprint("m", n), "select mbus4.post('q', 'a=>1', iid => $1)", fmt.Sprint("m", n))
		}
		s.want(t, "", "select iid from mbus4.consumen('q', amt => 0)")
		s.want(t, "m0", "select iid from mbus4.consume('q')")
		s.want(t, "m1\nm2\nm3", "select iid from mbus4.consumen('q', amt => $1)", 3)
		s.want(t, "m5", "select iid from mbus4.take('m5')")
		s.want(t, "m4\nm6\nm7\nm8\nm9", "select iid from mbus4.consumen('q', amt => $1)", 100)
		s.want(t, "", "select iid from mbus4.consumen('q', amt => $1)", 100)
	})
}

// What is not there is a null row where one row is promised, and no row elsewhere.
func TestNothingThere(t *testing.T) {
	t.Parallel()
	forEachForm(t, []string{"q"}, func(t *testing.T, s *session) {
		const nulls = "∅|∅|∅|∅|∅|∅|∅|∅|∅"
		for _, sql := range []string{
			"select * from mbus4.take($1)",
			"select * from mbus4.peek($1)",
			"select * from mbus4.take_from_q_by_default($1)",
		} {
			s.want(t, nulls, sql, "none")
			s.want(t, nulls, sql, nil)
		}
		s.want(t, "∅", "select (mbus4.take($1)).iid", "none")
		s.want(t, "∅", "select (mbus4.peek($1)).data", "none")
		s.want(t, "", "select mbus4.consume('q')")
		s.want(t, "", "select (mbus4.consume('q')).*")
		s.want(t, "0", "select count(*) from mbus4.consumen('q', amt => 3)")
		s.want(t, "f", "select mbus4.is_msg_exists($1)", "none")
	})
}

// The messages of one statement stand in the order of its rows, whatever plan the server chose.
func TestOrderOfOneStatement(t *testing.T) {
	t.Parallel()
	forEachForm(t, []string{"q", "r"}, func(t *testing.T, s *session) {
		ask(t, s.conn, "create table t as select n from generate_series(1, 300) n; analyze t")
		for _, rows := range []string{
			"generate_series(1, 300) n",
			"t",
			"(select n from t order by n) t",
			"t order by n",
			"unnest(array(select n from t order by n)) n",
		} {
			for _, call := range []string{"mbus4.post('q', hstore('n', n::text))", "mbus4.post_q(hstore('n', n::text))", "mbus4.post(case when n > 0 then 'q' else 'r' end, hstore('n', n::text))"} {
				ask(t, s.conn, "drop table if exists posted")
				s.want(t, "", "create table posted as select "+call+" from "+rows)
				s.want(t, "300|t", `select count(*), bool_and(data->'n' = ordinality::text)
					from mbus4.consumen('q', amt => 999) with ordinality`)
			}
		}
		s.want(t, "", "create table downwards as select mbus4.post('q', hstore('n', n::text)) from t order by n desc")
		s.want(t, "300|t", `select count(*), bool_and(data->'n' = (301 - ordinality)::text)
			from mbus4.consumen('q', amt => 999) with ordinality`)
	})
}
