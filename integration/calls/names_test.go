package calls

import (
	"fmt"
	"strings"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// Names that may not be, for queues and for consumers.
func TestNameRules(t *testing.T) {
	t.Parallel()
	bad := []string{"", "Q", "aB", "a-b", "a b", "a.b", "ä", "dmq", "temp", "temp.x", strings.Repeat("x", 33)}
	good := []string{"q1", "0", "_", "a_b", "temp_x", "dmq2", strings.Repeat("x", 32)}
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		for _, name := range bad {
			s.Refused(t, "42602", "select mbus4.create_queue($1, 1)", name)
			s.Refused(t, "42602", "select mbus4.create_consumer('q', $1)", name)
		}
		for _, name := range good {
			s.Want(t, "", "select mbus4.create_consumer('q', $1)", name)
			s.Want(t, "", "select mbus4.drop_consumer('q', $1)", name)
			s.Want(t, "", "select mbus4.create_queue($1, 1)", name)
			s.Want(t, "", "select mbus4.create_consumer('q', cname => $1)", name)
			s.Want(t, "i", "select mbus4.post($1, 'a=>1', iid => 'i')", name)
			s.Want(t, "i", "select iid from mbus4.consume($1)", name)
			s.Want(t, "", "select mbus4.drop_consumer($1, qname => 'q')", name)
			s.Want(t, "", "select mbus4.drop_queue($1)", name)
		}
	})
}

// Queues and consumers that are not there are an error wherever they are named.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		for _, name := range []any{"nowhere", "", "dmq.x", nil} {
			for _, sql := range []string{
				"select mbus4.post($1, 'a=>1')",
				"select * from mbus4.consume($1)",
				"select * from mbus4.consume('q', $1)",
				"select * from mbus4.consumen($1)",
				"select * from mbus4.consumen('q', $1, 1)",
				"select (mbus4.consume($1)).iid",
				"select mbus4.drop_queue($1)",
				"select mbus4.create_consumer($1, 'c')",
				"select mbus4.drop_consumer('q', $1)",
			} {
				said := s.Refused(t, "42704", sql, name)
				if name == "nowhere" && !strings.Contains(said, "nowhere") {
					t.Errorf("%s: the error does not say what is missing: %s", sql, said)
				}
			}
		}
		for _, sql := range []string{
			"select mbus4.post_nowhere('a=>1')",
			"select * from mbus4.consume_nowhere_by_default()",
			"select * from mbus4.consume_q_by_nobody()",
			"select * from mbus4.consumen_q_by_nobody(1)",
			"select * from mbus4.take_from_q_by_nobody('x')",
			"select mbus4.peek_nowhere()",
		} {
			s.Refused(t, "42704", sql)
		}
	})
}

// Calls that no function fits get Postgres's words, the signature and the place.
func TestWrongArguments(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	for _, c := range []struct{ sql, hint string }{
		{"select mbus4.post()", "mbus4.post("},
		{"select mbus4.post('q')", "mbus4.post("},
		{"select mbus4.post('q', 'a=>1', nosuch => 1)", "mbus4.post("},
		{"select mbus4.post('q', 'a=>1', qname => 'q')", "mbus4.post("},
		{"select mbus4.post('q', 'a=>1', iid => 'x', msgiid => 'x')", "mbus4.post("},
		{"select mbus4.post('q', 'a=>1', null, null, null, null, null, null, null, null, null)", "mbus4.post("},
		{"select mbus4.post_q()", "mbus4.post_q("},
		{"select mbus4.post_q('a=>1', qname => 'q')", "mbus4.post_q("},
		{"select * from mbus4.consume()", "mbus4.consume("},
		{"select * from mbus4.consume('q', 'default', 1)", "mbus4.consume("},
		{"select * from mbus4.consume('q', amt => 1)", "mbus4.consume("},
		{"select * from mbus4.consumen_q_by_default()", "mbus4.consumen_q_by_default("},
		{"select * from mbus4.consume_q_by_default('q')", "mbus4.consume_q_by_default("},
		{"select mbus4.take()", "mbus4.take("},
		{"select mbus4.create_queue('x')", "mbus4.create_queue("},
		{"select mbus4.drop_consumer('x')", "mbus4.drop_consumer("},
		{"select mbus4.nosuch('x')", ""},
		{"select 1, mbus4.consume_q('x')", ""},
		{"select true or mbus4.nosuch_q() from mbus4.nosuch('x')", ""},
	} {
		t.Run(c.sql, func(t *testing.T) {
			report := harness.Refusal(t, conn, "42883", c.sql)
			if !strings.Contains(report.Hint, c.hint) {
				t.Errorf("hint %q, want the signature of %s", report.Hint, c.hint)
			}
			if at := int(report.Position); at < 1 || !strings.HasPrefix(c.sql[at-1:], "mbus4.") {
				t.Errorf("position %d does not point at a call in %q", at, c.sql)
			}
			if report := harness.Refusal(t, conn, "42883", c.sql+" -- $1", "x"); report.Position == 0 {
				t.Error("no position in the extended protocol")
			}
		})
	}
}

// An existing queue is only a NOTICE: its messages stay.
func TestQueueExists(t *testing.T) {
	t.Parallel()
	database := harness.NewDatabase(t)
	conn, notices := harness.ConnectNotices(t, database)
	harness.Ask(t, conn, "select mbus4.create_queue('q', 1)")
	harness.Ask(t, conn, "select mbus4.post('q', 'a=>1', iid => 'm')")
	if n := len(*notices); n != 0 {
		t.Errorf("%d notices for a new queue: %v", n, (*notices)[0])
	}
	for _, sql := range []string{
		"select mbus4.create_queue('q', 5)",
		"select mbus4.create_queue(qname => 'q', ncons => 6)",
		"select mbus4.create_queue('q', consumers_cnt => 7)",
	} {
		*notices = nil
		harness.Ask(t, conn, sql)
		if len(*notices) != 1 || (*notices)[0].Severity != "NOTICE" || !strings.Contains((*notices)[0].Message, "q") {
			t.Errorf("%s: notices %v", sql, *notices)
		}
	}
	harness.Want(t, conn, "m", "select iid from mbus4.consumen('q', amt => 9)")
}

// A name can be read in two ways when queue or consumer names contain _by_.
func TestAmbiguousNames(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"a", "a_by_b"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_consumer('a_by_b', 'c')")
		s.Want(t, "m", "select mbus4.post('a_by_b', 'x=>1', iid => 'm')")
		// Only queue a_by_b with consumer c exists.
		s.Want(t, "m", "select iid from mbus4.consume_a_by_b_by_c()")
		s.Want(t, "m", "select iid from mbus4.consumen_a_by_b_by_default(1)")
		// Now queue a has a consumer b_by_c as well.
		s.Want(t, "", "select mbus4.create_consumer('a', 'b_by_c')")
		for _, sql := range []string{
			"select iid from mbus4.consume_a_by_b_by_c()",
			"select iid from mbus4.consumen_a_by_b_by_c($1)",
			"select iid from mbus4.take_from_a_by_b_by_c($1::text)",
		} {
			args := []any{"1"}[:strings.Count(sql, "$1")]
			said := s.Refused(t, "42725 42P09 42704 42602", sql, args...)
			if !strings.Contains(said, "a_by_b") || !strings.Contains(said, "b_by_c") {
				t.Errorf("%s: both readings should be named: %s", sql, said)
			}
		}
		s.Want(t, "", "select mbus4.drop_consumer('a_by_b', 'c')")
		s.Want(t, "n", "select mbus4.post('a', 'x=>1', iid => 'n')")
		s.Want(t, "n", "select iid from mbus4.consume_a_by_b_by_c()")
	})
}

// A fresh iid is <queue>.<database>.<n>, and no two are the same.
func TestFreshIIDs(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "20|t", fmt.Sprintf(`select count(distinct i), bool_and(i ~ '^q\.%s\.\d+$')
			from (select mbus4.get_iid('q') as i from generate_series(1, 10)
			union all select mbus4.generate_new_msgiid(qname => 'Q') from generate_series(1, 10)) x`, s.Database))
	})
}

// Names as long as they may be work in every name that is made of them, though the server cuts such
// names off behind 63 bytes; the columns are called what the server would call them, and it has
// nothing to say about it.
func TestLongestNames(t *testing.T) {
	t.Parallel()
	queue, consumer := strings.Repeat("q", 31)+"1", strings.Repeat("c", 31)+"2"
	forms.ForEach(t, []string{queue, strings.Repeat("q", 31) + "2"}, func(t *testing.T, s *forms.Session) {
		conn, notices := harness.ConnectNotices(t, s.Database)
		s.Conn = conn
		by := queue + "_by_" + consumer
		harness.Ask(t, conn, "create table t (n int); insert into t values (1), (2)")
		s.Want(t, "", "select mbus4.create_consumer($1, $2)", queue, consumer)
		s.Want(t, "", "select mbus4.create_consumer($1, $2)", queue, strings.Repeat("c", 32)) // the same in the first 63 bytes
		s.Want(t, "9", "select count(mbus4.post_"+queue+"(hstore('n', n::text), iid => 'm' || n)) from generate_series(1, 9) n")
		s.Want(t, "m1", "select iid from mbus4.consume_"+by+"()")
		s.Want(t, "m2", `select (mbus4."consume_`+by+`"()).iid`)
		s.Want(t, "m3", `select (MBUS4.CONSUME_`+strings.ToUpper(by)+`()).iid`)
		s.Want(t, "m4", `select iid from mbus4.U&"consume_`+by+`"()`)
		s.Want(t, "m5\nm6", "select iid from mbus4.consumen_"+by+"($1) order by 1", "2")
		s.Want(t, "m7", "select (mbus4.take_from_"+by+"($1)).iid", "m7")
		s.Want(t, "1", "select count(*) from t where (mbus4.take_from_"+by+"('m8')).iid = 'm8'") // in place
		s.Want(t, "m9", "select iid from mbus4.consume($1, $2)", queue, consumer)
		s.Want(t, "9", "select count(*) from mbus4.consumen_"+queue+"_by_"+strings.Repeat("c", 32)+"(99)")
		s.Want(t, "9", "select mbus4.run_on_"+queue+"('select 1')")
		s.Want(t, "f", "select mbus4.peek_"+queue+"()")
		s.Want(t, "", "select mbus4.clear_queue_"+queue+"()")
		s.Want(t, "", "select mbus4.create_view($1, $2)", queue, consumer)
		s.Want(t, "", "select mbus4.create_trigger($1, $2)", queue, strings.Repeat("q", 31)+"2")
		s.Want(t, "", "select * from "+queue+"_q")
		s.Want(t, "m", "select mbus4.post_"+queue+"('', iid => 'm')")
		for _, sql := range []string{"select mbus4.consume_" + by + "()", "select * from rows from (mbus4.take_from_" + by + "('m')) as x(r)", "select mbus4.consume_" + by + "() from t"} {
			if sd, err := conn.Prepare(harness.Context(t), "", sql, nil); err != nil {
				t.Errorf("%s: %s", sql, harness.Describe(err))
			} else if name := sd.Fields[0].Name; strings.HasPrefix(sql, "select mbus4.") && name != ("consume_" + by)[:63] {
				t.Errorf("%s: the column is called %s", sql, name)
			}
		}
		s.Refused(t, "42704", "select mbus4.consume_"+by+"3()")
		for _, n := range *notices {
			t.Errorf("%s %s: %s", n.Severity, n.Code, n.Message)
		}
	})
}

// Only A to Z are folded, in a name written out and in one that is bound, in Go and in SQL,
// whatever the database's language and encoding.
func TestNamesAreFoldedAlike(t *testing.T) {
	t.Parallel()
	databases := map[string]string{}
	for name, how := range map[string]string{
		"utf8": "encoding 'UTF8' locale 'C.UTF-8'", "icu": "encoding 'UTF8' locale_provider icu icu_locale 'tr-TR' locale 'C.UTF-8'",
		"latin1": "encoding 'LATIN1' locale 'C'", "win1251": "encoding 'WIN1251' locale 'C'", "ascii": "encoding 'SQL_ASCII' locale 'C'",
	} {
		databases[name] = harness.NewDatabaseFrom(t, "template0 "+how)
	}
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, f := range forms.All() {
				s := &forms.Session{Form: f, Conn: harness.Connect(t, harness.Proxied(), database), Database: database}
				if f.Name == forms.All()[0].Name {
					s.Want(t, "", "select mbus4.create_queue('i_kilo', 1)")
					s.Want(t, "", "select mbus4.create_consumer('I_KILO', 'is')")
				}
				s.Want(t, "m", "select mbus4.post('I_KILO', '', iid => 'm')")
				s.Want(t, "m", "select iid from mbus4.consume($1, $2)", "I_kilo", "IS")
				s.Want(t, "t|t", "select mbus4.peek_I_KILO(), mbus4.\"peek_I_KILO\"()")
				s.Want(t, "m", "select iid from mbus4.\"CONSUME_I_KILO_BY_Default\"()")
				s.Want(t, "0", "select mbus4.estimated_messages('I_KILO')")
				s.Want(t, "t", "select mbus4.get_iid('I_KILO') like 'i\\_kilo.%'")
				// What a call returns has no collation that would be in the way of another.
				for _, call := range []string{"mbus4.get_iid('I_kilo')", "mbus4.post('I_kilo', '')", "mbus4.post('I_kilo', '', 'h=>1')"} {
					s.Want(t, "t", "select 'a' < "+call+" collate \"POSIX\"")
					s.Want(t, "t", "select 'a' collate \"POSIX\" < "+call)
				}
				s.Want(t, "4", "select count(*) from mbus4.consumen('I_KILO', 'default', 9)")
				s.Want(t, "4", "select count(*) from mbus4.consumen('I_KILO', 'Is', 9)")
				if name != "utf8" && name != "icu" {
					continue
				}
				for _, other := range []string{"\u0130_kilo", "i_\u212Ailo", "\u0131_kilo", "\u0424"} { // dotted I, Kelvin, dotless i
					s.Refused(t, "42704", "select mbus4.post('"+other+"', '')")
					s.Refused(t, "42704", "select mbus4.post($1, '')", other)
					s.Refused(t, "42704", `select mbus4."post_`+other+`"('')`)
					s.Refused(t, "42704", "select mbus4.post_"+other+"('')")
				}
				s.Refused(t, "42883", `select mbus4."ta`+"\u212A"+`e"('m')`)
				s.Refused(t, "42883", "select mbus4.ta\u212Ae('m')")
			}
		})
	}
}
