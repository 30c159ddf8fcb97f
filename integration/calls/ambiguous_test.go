package calls

import (
	"strings"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// consumersOf lists the consumers that calls have made.
const consumersOf = "select coalesce(string_agg(qname || '/' || name, ' ' order by qname, name), '') from mbus4.consumer where name <> 'default'"

// Old programs give the consumer first. Where both arguments name queues nobody knows which is meant, and the call is
// refused wherever it stands; an argument given by name says what it is.
func TestEitherOrder(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "create table t (a text, b text)")
		s.Want(t, "", "insert into t values ('q', 'r')")
		s.Want(t, "|", "select mbus4.create_consumer(qname => 'q', cname => 'r'), mbus4.create_consumer(cname => 'q', qname => 'r')")
		there := harness.Ask(t, s.Conn, consumersOf)
		for _, name := range []string{"create_consumer", "drop_consumer"} {
			call := "mbus4." + name
			for _, c := range []struct {
				sql  string
				args []any
			}{
				{"select " + call + "('q', 'r')", nil},
				{"select " + call + "('Q', 'R')", nil},
				{"select " + call + "($1, $2)", []any{"q", "r"}},
				{"select * from " + call + "($1, $2)", []any{"r", "q"}},
				{"select " + call + "(a, b) from t", nil},
				{"select " + call + "(b, a), 1 from t", nil},
				{"select 1 where " + call + "('q', 'r') is not null", nil},
				{"select a from t where " + call + "(a, b) is not null", nil},
				{"select case when a = 'q' then " + call + "(a, b) end from t", nil},
				{"with x as (select " + call + "('q', 'r')) select from x", nil},
				{"select " + call + "('q', 'r'), " + call + "('q', 'c')", nil},
				{"select " + call + "('q', 'r'), " + call + "(qname => 'q', cname => 'r')", nil},
			} {
				said := s.Refused(t, "42725", c.sql, c.args...)
				if !strings.Contains(said, "mbus4."+name) {
					t.Errorf("%s: %s", c.sql, said)
				}
				if got := harness.Ask(t, s.Conn, consumersOf); got != there {
					t.Errorf("%s: %s, want %s", c.sql, got, there)
				}
			}
			report := harness.Refusal(t, s.Conn, "42725", "select "+call+"('q', 'R')")
			if report.Message != `mbus4.`+name+`("q", "r") may mean either order: both are queues` ||
				report.Hint != "Name the arguments: mbus4."+name+"(qname => 'q', cname => 'r') is about consumer \"r\" of queue \"q\", mbus4."+
					name+"(qname => 'r', cname => 'q') about consumer \"q\" of queue \"r\"." || report.Position != 8 {
				t.Errorf("%s at %d", harness.Describe(report), report.Position)
			}
		}

		// Both readings are one.
		s.Want(t, "", "select mbus4.create_consumer('q', 'q')")
		s.Want(t, "", "select mbus4.drop_consumer('q', 'q')")

		// In a text that a prelude runs.
		s.Want(t, "t", "select mbus4.post('q', 'a=>1') is not null")
		s.Want(t, "t", "select mbus4.run_on_q($1) is not null", "select mbus4.drop_consumer('q', 'r')")
		s.Want(t, "t", "select headers->'dmq.error' like '%may mean either order%' from mbus4.consume('dmq')")
		s.Want(t, there, consumersOf)

		// A name says what an argument is, and what the other one is.
		for _, c := range []struct{ drop, create, gone string }{
			{"(qname => 'q', cname => 'r')", "(qname => 'q', cname => 'r')", "q/r"},
			{"(cname => 'q', qname => 'r')", "(cname => 'q', qname => 'r')", "r/q"},
			{"('q', cname => 'r')", "('q', cname => 'r')", "q/r"},
			{"('q', qname => 'r')", "('q', qname => 'r')", "r/q"},
			{"('q', qname := 'r')", "('q', p_selector => null, qname := 'r')", "r/q"},
		} {
			without := strings.TrimSpace(strings.ReplaceAll(there, c.gone, ""))
			for _, statement := range []string{"select mbus4.%", "select a from t where mbus4.% is not null", "select mbus4.% from t"} {
				kept := strings.HasPrefix(statement, "select a")
				want := ""
				if kept {
					want = "q"
				}
				s.Want(t, want, strings.Replace(statement, "%", "drop_consumer"+c.drop, 1))
				s.Want(t, without, consumersOf)
				s.Want(t, want, strings.Replace(statement, "%", "create_consumer"+c.create, 1))
				s.Want(t, there, consumersOf)
			}
		}
		// Both kinds in one statement.
		s.Want(t, "|", "select mbus4.drop_consumer(qname => 'q', cname => 'r'), mbus4.create_consumer('c', 'q')")
		s.Want(t, "|", "select mbus4.drop_consumer('c', 'q'), mbus4.drop_consumer('r', cname => 'q')")
		s.Want(t, "", consumersOf)
		// What is named is not read the other way round, either.
		s.Refused(t, "42704", "select mbus4.create_consumer(qname => 'c', cname => 'q')")
		s.Refused(t, "42704", "select mbus4.create_consumer('c', cname => 'q')")
		s.Want(t, "", "select mbus4.create_consumer('c', 'q')")
		s.Refused(t, "42704", "select mbus4.drop_consumer('c', cname => 'q')")
		s.Refused(t, "42883", "select mbus4.drop_consumer('c', 'q', qname => 'q')")
		s.Want(t, "", "select mbus4.drop_consumer('c', 'q')")
	})
}
