package rewriter

import (
	"fmt"
	"testing"

	"mbusproxy/engine/calls"
	"mbusproxy/rewrite"
	"mbusproxy/rewrite/parse"
	"mbusproxy/rewrite/plan"
)

// BenchmarkRewrite is the time of a statement that the proxy has not seen, but for the server's:
// parsing, placing its calls, their SQL.
func BenchmarkRewrite(b *testing.B) {
	for name, sql := range map[string]string{
		"consume":      "select * from mbus4.consume('q') as x%d",
		"post":         "select mbus4.post('q', 'a=>1') as x%d",
		"post full":    "select mbus4.post('q', 'a=>1', headers => 'a=>1', iid => 'x') as x%d",
		"take":         "select mbus4.take('i') as x%d",
		"dyn rows":     "select mbus4.dyn_consume(q, s) from t%d",
		"consume rows": "select mbus4.consume(q) from t%d",
		"peek":         "select mbus4.peek('i') as x%d",
		"in place":     "select 1 from t%d where mbus4.post('q', '') is null",
		"ten posts": "select mbus4.post('q', ''), mbus4.post('q', ''), mbus4.post('q', ''), mbus4.post('q', ''), mbus4.post('q', '')," +
			" mbus4.post('q', ''), mbus4.post('q', ''), mbus4.post('q', ''), mbus4.post('q', ''), mbus4.post('q', '') as x%d",
	} {
		b.Run(name, func(b *testing.B) {
			r := rewrite.New(calls.New(), nil, parse.New())
			env := func() (plan.Env, *plan.Refusal) { return plan.Env{}, nil }
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				text := fmt.Sprintf(sql, i) // a name differs, so the statement is new
				if r.Rewrite(b.Context(), text, plan.Session{Encoding: "UTF8"}, env) == nil {
					b.Fatal("not rewritten")
				}
			}
		})
	}
}
