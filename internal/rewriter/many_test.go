package rewriter

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/proxy/statements"
	"mbusproxy/rewrite/parse"
)

// A thousand calls in one statement take the server at most three times as long as one call that a function serves
// for each of a thousand rows, whether they are served inline or by functions. Of what is compared the shortest of
// several rounds counts, in which both run one after the other.
//
// Three times is what MBUS_LONG=1 asks for, on a machine that does nothing else; else ten times must be enough, which a
// cost that does not grow in proportion exceeds many times over.
//
// A Query of many statements cannot be compared with rows: each of its statements is planned,
// whatever it holds. What is fair is a Query of as many statements with as many calls, each of a
// function in the database where it stands, which is what a server without the proxy would have.
// The statements are 50, for their time is in proportion to their number.
func TestManyCallsTime(t *testing.T) {
	t.Parallel()
	cluster, eng := engineOnCluster(t)
	conn, err := pgx.Connect(t.Context(), cluster.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	r := New(eng, nil, parse.New(), false)
	sc := statements.Context{User: "postgres", Database: "postgres", Encoding: "UTF8", Simple: true, Secret: "ABCDEFGHIJKLMNOP"}
	run := func(sql string) time.Duration {
		p := r.Rewrite(t.Context(), sc, sql)
		if p == nil {
			t.Fatalf("not served: %.80s", sql)
		}
		began := time.Now()
		if _, err := conn.PgConn().Exec(t.Context(), p.SQL()).ReadAll(); err != nil {
			t.Fatalf("%.80s: %v", sql, err)
		}
		return time.Since(began)
	}
	run("select mbus4.create_queue('q', 1)")
	run("create temporary table kept as select mbus4.post('q', '') as iid")
	long := os.Getenv("MBUS_LONG") != ""
	const n = 1000
	list := func(n int, item, between string) string { return strings.Repeat(item+between, n-1) + item }
	const one, full = "mbus4.post('q', 'a=>1')", "mbus4.post('q', 'a=>1', 'h=>1')"
	rows := func(call string) string {
		return "select case when true then " + call + " end from generate_series(1, 1000) n"
	}
	const chosen, other = "case when true then " + one + " end", "case when false then 'none' else " + one + " end"
	queues := 0
	create := func(call string) string { // as many queues that are new
		queues++
		return strings.ReplaceAll(call, "{}", strconv.Itoa(queues))
	}
	for _, form := range []struct{ name, many, rows string }{
		{"values", "values " + list(n, "("+one+")", ", "), rows(one)},
		{"with headers", "values " + list(n, "("+full+")", ", "), rows(full)},
		{"insert", "insert into kept values " + list(n, "("+one+")", ", "), rows(one)},
		{"target list", "select " + list(n, one, ", "), rows(one)},
		{"array", "select array[" + list(n, one, ", ") + "]", rows(one)},
		{"union all", list(n, "select "+one, " union all "), rows(one)},
		{"nested", "values " + list(n/2, "(mbus4.post('q', hstore('n', "+one+")))", ", "), rows(one)},
		{"in one query", list(4, "values "+list(n/4, "("+one+")", ", "), "; "), rows(one)},
		{"case", "values " + list(n, "("+chosen+")", ", "), rows(one)},
		{"case in a target list", "select " + list(n, chosen, ", "), rows(one)},
		{"case with else", "values " + list(n, "("+other+")", ", "), rows(one)},
		{"case with two calls", "values " + list(n/2, "(case when false then "+one+" else "+one+" end)", ", "), rows(one)},
		{"case in insert", "insert into kept values " + list(n, "("+chosen+")", ", "), rows(one)},
		{"create_queue", "values " + numbered(n, "(mbus4.create_queue('a{}_%d', 1))"), rows("mbus4.create_queue('b{}_' || n, 1)")},
		{"over rows", "select " + list(n, "mbus4.post('q', x)", ", ") + " from (values ('a=>1'::hstore)) v (x) limit 1", rows(one)},
		{"statements", list(50, "values "+list(4, "("+one+")", ", "), "; "), list(50, "values "+list(4, "("+chosen+")", ", "), "; ")},
	} {
		most := time.Duration(10)
		if long {
			most = 3
		}
		if form.name == "over rows" {
			if !long {
				continue
			}
			most = 50 // the body is planned a thousand times: docs/adr/0003
		}
		many, rows := time.Hour, time.Hour
		for round := range 12 {
			many, rows = min(many, run(create(form.many))), min(rows, run(create(form.rows)))
			if (round >= 1 || !long) && many <= most*rows {
				break
			}
		}
		t.Logf("%s: %v, as rows %v: %.1f times", form.name, many, rows, float64(many)/float64(rows))
		if many > most*rows {
			t.Errorf("%s takes %v, as rows %v", form.name, many, rows)
		}
	}
}

func numbered(n int, format string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(items, ", ")
}
