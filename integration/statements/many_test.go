package statements

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// manyForms are statements with n calls.
var manyForms = []struct {
	name      string
	sql       func(n int) string
	functions bool // the calls are functions, each of which the server plans
}{
	{"values", func(n int) string { return "values " + repeated(n, "(mbus4.post('q', 'n=>%d'))", ", ") }, false},
	{"insert", func(n int) string {
		return "insert into kept (iid) values " + repeated(n, "(mbus4.post('q', 'n=>%d'))", ", ")
	}, false},
	{"target list", func(n int) string { return "select " + repeated(n, "mbus4.post('q', 'n=>%d')", ", ") }, false},
	{"array", func(n int) string { return "select array[" + repeated(n, "mbus4.post('q', 'n=>%d')", ", ") + "]" }, false},
	{"union all", func(n int) string { return repeated(n, "select mbus4.post('q', 'n=>%d')", " union all ") }, false},
	{"nested", func(n int) string {
		return "values " + repeated(n/2, "(mbus4.post('q', hstore('n%d', mbus4.post('q', ''))))", ", ")
	}, false},
	{"with iids", func(n int) string { return "values " + repeated(n, "(mbus4.post('q', '', iid => 'i%d'))", ", ") }, false},
	{"consume", func(n int) string { return "select " + repeated(n, "(select iid from mbus4.consume('q'))", ", ") }, false},
	{"take", func(n int) string { return "values " + repeated(n, "((mbus4.take('i%d')).iid)", ", ") }, false},
	{"functions", func(n int) string {
		return "values " + repeated(n, "(case when true then mbus4.post('q', 'n=>%d') end)", ", ")
	}, true},
	{"branches", func(n int) string {
		return "values " + repeated(n, "(case when %[1]d < 0 then mbus4.post('r', 'n=>%[1]d') else mbus4.post('q', 'n=>%[1]d') end)", ", ")
	}, true},
	{"create_queue", func(n int) string { return "values " + repeated(n, "(mbus4.create_queue('many%d', 1))", ", ") }, true},
	{"statements", func(n int) string {
		return repeated(n/10, "values "+strings.Repeat("(mbus4.post('q', '%[1]d=>1')), ", 9)+"(mbus4.post('q', ''))", "; ")
	}, false},
}

func repeated(n int, format, between string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = format
		if strings.Contains(format, "%") {
			parts[i] = fmt.Sprintf(format, i+1)
		}
	}
	return strings.Join(parts, between)
}

// What is planned grows with the calls, not with their square: WITH queries are shared.
func TestManyCallsPlan(t *testing.T) {
	t.Parallel()
	conn := harness.Connect(t, harness.Proxied(), harness.NewQueueDatabase(t, "q"))
	harness.Ask(t, conn, "create table kept (iid text)")
	for _, f := range manyForms {
		if f.functions || f.name == "statements" || f.name == "consume" || f.name == "take" {
			continue
		}
		for _, n := range []int{10, 64, 65, 300} {
			plan := harness.Ask(t, conn, "explain "+f.sql(n))
			got, most := strings.Count(plan, "Insert on message"), n/64+2
			if got == 0 || got > most {
				t.Errorf("%s with %d calls has %d inserts, want at most %d", f.name, n, got, most)
			}
		}
	}
}

// Results, order, errors and their places are as with few calls, and all of the statement happens or nothing.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		drained := func(expected string) {
			t.Helper()
			s.Want(t, expected, "select coalesce(string_agg(coalesce(data->'n', 'none'), ' ' order by id), '') from mbus4.consumen('q', amt => 1000)")
		}
		numbers := func(from, to int) string {
			var b []string
			for i := from; i <= to; i++ {
				b = append(b, strconv.Itoa(i))
			}
			return strings.Join(b, " ")
		}
		for _, n := range []int{9, 64, 65, 150} {
			for _, f := range manyForms {
				if f.name != "values" && f.name != "insert" && f.name != "functions" && f.name != "branches" {
					continue
				}
				harness.Ask(t, s.Conn, "create table if not exists kept (iid text)")
				s.Want(t, strconv.Itoa(n), "with p (iid) as ("+strings.TrimPrefix(f.sql(n), "insert into kept (iid) ")+") select count(distinct iid) from p")
				drained(numbers(1, n))
			}
		}
		sql := "select " + repeated(20, "mbus4.post('q', 'n=>%d')", ", ")
		sql = strings.Replace(sql, "mbus4.post('q', 'n=>7')", "mbus4.post('q', 'n=>7', iid => 'seven')", 1)
		sql = strings.Replace(sql, "mbus4.post('q', 'n=>9')", "mbus4.post_q('n=>9', 'h=>9')", 1)
		if got := harness.Ask(t, s.Conn, sql); strings.Count(got, "|") != 19 || strings.Split(got, "|")[6] != "seven" {
			t.Errorf("got %s", got)
		}
		drained(numbers(1, 20))

		bad := strings.Replace(sql, "mbus4.post('q', 'n=>13')", "mbus4.post('nope', 'n=>13')", 1)
		refusedAt(t, s, "42704", "mbus4.post('nope'", bad)
		twice := strings.Replace(sql, "mbus4.post('q', 'n=>13')", "mbus4.post('q', 'n=>13', iid => 'seven')", 1)
		refusedAt(t, s, "23505", "mbus4.post('q', 'n=>13', iid", twice)
		drained("")

		sql = "values " + repeated(10, "(mbus4.post('q', hstore('n', left(mbus4.post('r', 'n=>%d'), 1))))", ", ")
		s.Want(t, "10", "with p (iid) as ("+sql+") select count(iid) from p")
		drained(strings.TrimSpace(strings.Repeat("r ", 10)))
		s.Want(t, numbers(1, 10), "select string_agg(data->'n', ' ' order by id) from mbus4.consumen('r', amt => 99)")

		s.Want(t, "9", "select count(p) from (select mbus4.post('q', hstore('n', n::text)) as p from generate_series(1, 9) n) x")
		s.Want(t, strings.ReplaceAll(numbers(1, 9), " ", "|")+"|"+harness.Null, "select "+repeated(10, "(select data->'n' from mbus4.consume('q'))", ", "))
		refusedAt(t, s, "42704", "mbus4.consume_q_by_nope", "select "+repeated(10, "(select data->'n' from mbus4.consume('q'))", ", ")+", (select data from mbus4.consume_q_by_nope())")

		manyInRows(t, s, drained)

		queues := "values " + repeated(12, "(mbus4.create_queue('many%d', 1))", ", ")
		s.Want(t, "12", "with p as ("+queues+") select count(*) from p")
		refusedAt(t, s, "42602", "mbus4.create_queue", "values "+repeated(12, "(mbus4.drop_queue('many%d'))", ", ")+", (mbus4.create_queue('No', 1))")
		s.Want(t, "12", "select count(*) from mbus4.queue where qname like 'many%'")
		s.Want(t, "12", "with p as (values "+repeated(12, "(mbus4.drop_queue('many%d'))", ", ")+") select count(*) from p")
		s.Want(t, "0", "select count(*) from mbus4.queue where qname like 'many%'")
	})
}

// manyInRows are statements whose calls are the rows of a WITH query, each by a function.
func manyInRows(t *testing.T, s *forms.Session, drained func(expected string)) {
	// Neither calls nor arguments of a branch that is not taken are evaluated, conditions are once.
	harness.Ask(t, s.Conn, "create sequence if not exists asked")
	harness.Ask(t, s.Conn, "select setval('asked', 1)")
	s.Want(t, "12|6", "with p (iid) as (values "+repeated(12,
		"(case when nextval('asked') %% 2 = 1 then mbus4.post('q', 'n=>%[1]d') when false then mbus4.post('nope', 'n=>%[1]d') end)", ", ")+
		") select count(*), count(iid) from p")
	s.Want(t, "13", "select last_value from asked")
	drained("2 4 6 8 10 12")

	// Each sees what those before it did, whatever function it is.
	s.Want(t, "1,2,3,4,5,6", "with p (n) as (values "+repeated(6,
		"(case when true then mbus4.post('q', 'n=>%[1]d', iid => 'r%[1]d') end is null), (case when true then (mbus4.take('r%[1]d')).data->'n' end is null)", ", ")+
		") select '1,2,3,4,5,6' from p having not bool_or(n)")
	drained("")
	s.Want(t, "t", "with p as (select array["+repeated(10, "case %[1]d when 0 then 'none' when 3 then 'three' else coalesce(mbus4.post('q', 'n=>%[1]d'), 'x') end", ", ")+
		"] as a) select a[3] = 'three' and a[1] like 'q.%' from p")
	drained("1 2 4 5 6 7 8 9 10")

	if got := harness.Ask(t, s.Conn, "select "+repeated(9, "case %[1]d when 1 then null when 4 then (mbus4.take('none')).iid || '!' else 'x' end", ", ")+", case when true then 7 else (mbus4.take('none')).id end"); got != harness.Null+"|x|x|"+harness.Null+"|x|x|x|x|x|7" {
		t.Errorf("got %s", got)
	}

	// Errors are those of their calls, and nothing else of the statement happens.
	sql := "values " + repeated(70, "(case when true then mbus4.post('q', 'n=>%d') end)", ", ")
	bad := strings.Replace(sql, "mbus4.post('q', 'n=>66')", "mbus4.post('nope', 'n=>66')", 1)
	refusedAt(t, s, "42704", "mbus4.post('nope'", bad)
	drained("")

	// A call in a branch of a branch leaves all where they stand, and so does what might fail in one that is not taken.
	s.Want(t, "71", "with p (iid) as ("+sql+", (case when true then case when false then mbus4.post('q', '') end end), (case when false then mbus4.post('q', hstore('n', (1 / 0)::text)) end), (case when false then mbus4.post('q', '') else (1 / 1)::text end)) select count(iid) from p")
	s.Want(t, "70", "select count(*) from mbus4.consumen('q', amt => 1000)")

	life := "values " + repeated(4, "(mbus4.create_queue('life%d', 1)), (mbus4.create_consumer('other', 'life%[1]d')), (mbus4.drop_queue('life%[1]d')), (mbus4.create_queue('life%[1]d', 2))", ", ")
	s.Want(t, "16", "with p as ("+life+") select count(*) from p")
	s.Want(t, "4|8", "select count(*), sum(consumers_cnt) from mbus4.queue where qname like 'life%'")
	s.Want(t, "4", "with p as (values "+repeated(4, "(mbus4.drop_queue('life%d'))", ", ")+") select count(*) from p")
}
