package delivery

import (
	"fmt"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// Each statement gets the first message of q for its consumer.
func TestConsumeNotations(t *testing.T) {
	t.Parallel()
	cases := []forms.Step{
		forms.Do("select iid from mbus4.consume('q')"),
		forms.Do("select iid from mbus4.consume($1)", "q"),
		forms.Do("select iid from mbus4.consume('q', 'default')"),
		forms.Do("select iid from mbus4.consume($1, $2)", "q", "default"),
		forms.Do("select iid from mbus4.consume(qname => $1)", "q"),
		forms.Do("select iid from mbus4.consume(cname => 'default', qname := 'q')"),
		forms.Do("select iid from mbus4.consume('q', cname => $1)", "default"),
		forms.Do("select iid from mbus4.consume('Q', 'DEFAULT')"),
		forms.Do("select iid from MBUS4.CONSUME('q')"),
		forms.Do(`select iid from "mbus4"."consume"('q')`),
		forms.Do("select iid from mbus4.consume_q_by_default()"),
		forms.Do("select iid from mbus4.Consume_Q_by_Default ( )"),
		forms.Do("select iid from mbus4.consumen('q')"),
		forms.Do("select iid from mbus4.consumen($1, $2, $3)", "q", "default", 1),
		forms.Do("select iid from mbus4.consumen('q', amt => 1)"),
		forms.Do("select iid from mbus4.consumen(amt := $1, qname := $2)", 1, "q"),
		forms.Do("select iid from mbus4.consumen('q', 'default', $1::int)", 1),
		forms.Do("select iid from mbus4.consumen_q_by_default(1)"),
		forms.Do("select iid from mbus4.consumen_q_by_default($1)", 1),
		forms.Do("select iid from mbus4.consumen_q_by_default(amt => $1)", 1),
		forms.Do("select iid from mbus4.take('m')"),
		forms.Do("select iid from mbus4.take($1)", "m"),
		forms.Do("select iid from mbus4.take(msgid => $1)", "m"),
		forms.Do("select iid from mbus4.take_from_q_by_default($1)", "m"),
		forms.Do("select iid from mbus4.take_from_q_by_default(msgid := $1)", "m"),
		forms.Do("select (mbus4.take($1)).iid", "m"),
		forms.Do("select (mbus4.take_from_q_by_default($1)).iid", "m"),
		forms.Do("select (mbus4.consume($1)).iid", "q"),
		forms.Do("select (mbus4.consume_q_by_default()).iid"),
	}
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		for _, c := range cases {
			s.Want(t, "m", "select mbus4.post('q', 'a=>1', iid => 'm')")
			s.Want(t, "n", "select mbus4.post('q', 'a=>1', iid => 'n')")
			s.Want(t, "m", c.SQL, c.Args...)
			s.Want(t, "n", "select iid from mbus4.consumen('q', amt => 9)")
		}
	})
}

// Reading calls leave the message where it is.
func TestPeek(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q", "empty"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "m", "select mbus4.post('q', 'a=>1', iid => 'm')")
		s.Want(t, "t|t|f|f|f|t", `select mbus4.peek_q(), mbus4.peek_q('m'), mbus4.peek_q(msgid => 'other'),
			mbus4.peek_empty(), mbus4.peek_empty('m'), mbus4.Peek_Q(null)`)
		s.Want(t, "t", "select mbus4.peek_q($1)", "m")
		s.Want(t, "t|f", "select mbus4.is_msg_exists($1), mbus4.is_msg_exists(msgid => $2)", "m", "other")
		s.Want(t, `m|"a"=>"1"`, "select iid, data from mbus4.peek($1)", "m")
		s.Want(t, "m", "select (mbus4.peek(msgid => $1)).iid", "m")
		s.Want(t, "∅|∅", "select iid, data from mbus4.peek($1)", "other")
		s.Want(t, "m", "select iid from mbus4.consume('q')")
		s.Want(t, "f|f", "select mbus4.peek_q(), mbus4.is_msg_exists('m')")
	})
}

// First in, first out; amt is an upper limit.
func TestOrderAndAmount(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		for n := range 10 {
			s.Want(t, fmt.Sprint("m", n), "select mbus4.post('q', 'a=>1', iid => $1)", fmt.Sprint("m", n))
		}
		s.Want(t, "", "select iid from mbus4.consumen('q', amt => 0)")
		s.Want(t, "m0", "select iid from mbus4.consume('q')")
		s.Want(t, "m1\nm2\nm3", "select iid from mbus4.consumen('q', amt => $1)", 3)
		s.Want(t, "m5", "select iid from mbus4.take('m5')")
		s.Want(t, "m4\nm6\nm7\nm8\nm9", "select iid from mbus4.consumen('q', amt => $1)", 100)
		s.Want(t, "", "select iid from mbus4.consumen('q', amt => $1)", 100)
	})
}

// What is not there is a null row where one row is promised, and no row elsewhere.
func TestNothingThere(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		const nulls = "∅|∅|∅|∅|∅|∅|∅|∅|∅"
		for _, sql := range []string{
			"select * from mbus4.take($1)",
			"select * from mbus4.peek($1)",
			"select * from mbus4.take_from_q_by_default($1)",
		} {
			s.Want(t, nulls, sql, "none")
			s.Want(t, nulls, sql, nil)
		}
		s.Want(t, "∅", "select (mbus4.take($1)).iid", "none")
		s.Want(t, "∅", "select (mbus4.peek($1)).data", "none")
		s.Want(t, "", "select mbus4.consume('q')")
		s.Want(t, "", "select (mbus4.consume('q')).*")
		s.Want(t, "0", "select count(*) from mbus4.consumen('q', amt => 3)")
		s.Want(t, "f", "select mbus4.is_msg_exists($1)", "none")
	})
}

// The messages of one statement stand in the order of its rows, whatever plan the server chose.
func TestOrderOfOneStatement(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		harness.Ask(t, s.Conn, "create table t as select n from generate_series(1, 300) n; analyze t")
		for _, rows := range []string{
			"generate_series(1, 300) n",
			"t",
			"(select n from t order by n) t",
			"t order by n",
			"unnest(array(select n from t order by n)) n",
		} {
			for _, call := range []string{"mbus4.post('q', hstore('n', n::text))", "mbus4.post_q(hstore('n', n::text))", "mbus4.post(case when n > 0 then 'q' else 'r' end, hstore('n', n::text))"} {
				harness.Ask(t, s.Conn, "drop table if exists posted")
				s.Want(t, "", "create table posted as select "+call+" from "+rows)
				s.Want(t, "300|t", `select count(*), bool_and(data->'n' = ordinality::text)
					from mbus4.consumen('q', amt => 999) with ordinality`)
			}
		}
		s.Want(t, "", "create table downwards as select mbus4.post('q', hstore('n', n::text)) from t order by n desc")
		s.Want(t, "300|t", `select count(*), bool_and(data->'n' = (301 - ordinality)::text)
			from mbus4.consumen('q', amt => 999) with ordinality`)
	})
}
