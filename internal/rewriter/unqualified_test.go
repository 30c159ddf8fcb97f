package rewriter

import (
	"strings"
	"testing"

	"mbusproxy/engine/calls"
	"mbusproxy/proxy/statements"
	"mbusproxy/rewrite"
	"mbusproxy/rewrite/detect"
	"mbusproxy/rewrite/parse"
	"mbusproxy/rewrite/plan"
	"mbusproxy/sqlfuncs"
)

// Whatever serves a function, wherever it stands, a prepared call of it without the schema bears its guard.
func TestGuards(t *testing.T) {
	t.Parallel()
	u, err := detect.NewUnqualified([]string{"all"})
	if err != nil {
		t.Fatal(err)
	}
	texts := calls.New()
	r := rewrite.New(texts, u, parse.New())
	const secret = "ABCDEFGHIJKLMNOP"
	served := 0
	for _, f := range sqlfuncs.All() {
		name := strings.NewReplacer("<q>", "q", "<c>", "c").Replace(f.DisplayName())
		var nulls, columns []string
		for _, p := range f.Visible() {
			if p.Name == f.Wait {
				continue // to say null is not to wait
			}
			given := "null"
			if f.Prelude || p.Name == f.Selector {
				given = "'1'"
			}
			nulls = append(nulls, given)
			columns = append(columns, strings.Replace(given, "null", "x", 1))
		}
		call, over := name+"("+strings.Join(nulls, ", ")+")", name+"("+strings.Join(columns, ", ")+")"
		for _, sql := range []string{
			"select " + call, "select * from " + call, "select 1 where " + call + " is null", "call " + call,
			"select " + over + " from t", "select " + over + " from t limit 1", "insert into t select " + over + " from t",
			"with w as (select " + over + " from t) select * from w", "select (select " + over + ") from t",
		} {
			session := plan.Session{Prepared: true, Answer: "1"}
			p := r.Rewrite(t.Context(), sql, session, func() (plan.Env, *plan.Refusal) { return plan.Env{}, nil })
			if p == nil {
				t.Fatalf("%s: not rewritten", sql)
			}
			if p.Refused() != nil {
				continue
			}
			served++
			p = p.For(secret)
			guard := texts.Guard(name, len(nulls), nil, "1 "+secret)
			guarded := strings.Contains(p.SQL(), guard)
			for _, s := range p.Preludes() {
				guarded = guarded || s.Guard == guard
			}
			if !guarded {
				t.Errorf("%s has no guard:\n%s", sql, p.SQL())
			}
			session.Prepared = false
			if p := r.Rewrite(t.Context(), sql, session, func() (plan.Env, *plan.Refusal) { return plan.Env{}, nil }).For(secret); strings.Contains(p.SQL(), guard) {
				t.Errorf("%s has a guard that it does not need", sql)
			}
		}
	}
	if served < 200 {
		t.Errorf("only %d statements were served", served)
	}
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	u, err := detect.NewUnqualified([]string{"post", "peek_*"})
	if err != nil {
		t.Fatal(err)
	}
	r, ok := New(nil, u, parse.New(), false).InProxy().(statements.Prober)
	if !ok {
		t.Fatal("no Prober")
	}
	for sql, want := range map[string]int{
		"select post('q', ''), post('r', ''), peek_q(msgid => '1')": 2, "select mbus4.post('q', '')": 0, "select consume('q')": 0,
		"select 'post(1)'": 0,
	} {
		if got := r.Probe(t.Context(), statements.Context{Encoding: "UTF8"}, sql); strings.Count(got, "then '1'") != want {
			t.Errorf("%s asks %s", sql, got)
		}
	}
	if _, ok := New(nil, nil, parse.New(), false).InProxy().(statements.Prober); ok {
		t.Error("without names there is nothing to ask")
	}
}
