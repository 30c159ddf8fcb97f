package app

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/proxy/pipeline"
	"mbusproxy/rewrite/parse"
)

// A thousand calls in one statement take the server about as long as one call for each of a thousand rows. The
// bound leaves room for a busy machine; WITH queries for each call took hundreds of times as long.
func TestManyCallsTime(t *testing.T) {
	t.Parallel()
	cluster, eng := engineOnCluster(t)
	conn, err := pgx.Connect(t.Context(), cluster.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	r := newRewriter(eng, nil, parse.New())
	sc := pipeline.StatementContext{Database: "postgres", Encoding: "UTF8", Simple: true, Secret: "ABCDEFGHIJKLMNOP"}
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
	const n = 1000
	list := func(n int, item, between string) string { return strings.Repeat(item+between, n-1) + item }
	const one, full = "mbus4.post('q', 'a=>1')", "mbus4.post('q', 'a=>1', 'h=>1')"
	for name, sql := range map[string]string{
		"values":       "values " + list(n, "("+one+")", ", "),
		"with headers": "values " + list(n, "("+full+")", ", "),
		"insert":       "insert into kept values " + list(n, "("+one+")", ", "),
		"target list":  "select " + list(n, one, ", "),
		"array":        "select array[" + list(n, one, ", ") + "]",
		"union all":    list(n, "select "+one, " union all "),
		"nested":       "values " + list(n/2, "(mbus4.post('q', hstore('n', "+one+")))", ", "),
		"in one query": list(4, "values "+list(n/4, "("+one+")", ", "), "; "),
	} {
		many, rows := time.Hour, time.Hour
		for range 4 {
			many = min(many, run(sql))
			each := one
			if strings.Contains(sql, full) {
				each = full
			}
			rows = min(rows, run("select case when true then "+each+" end from generate_series(1, 1000) n"))
		}
		t.Logf("%s: %v, as rows %v: %.1f times", name, many, rows, float64(many)/float64(rows))
		if many > 10*rows {
			t.Errorf("%s takes %v, as rows %v", name, many, rows)
		}
	}
}
