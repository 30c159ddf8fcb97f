package lex

import (
	"strings"
	"testing"
)

var unbounded = Size{Tokens: 1 << 30, Depth: 1 << 30}

func TestMeasureWide(t *testing.T) {
	rep := strings.Repeat
	for name, text := range map[string]string{
		"values":        "insert into t values (1, 'a', null)" + rep(", (1, 'a', -2)", 10000),
		"in":            "select * from t where a in (1" + rep(",1", 10000) + ") or b",
		"columns":       "select a" + rep(", t.a + 1 as b", 1000) + " from t",
		"calls":         "select mbus4.post('q', 'a=>1')" + rep(", mbus4.post('q', hstore('a', $1::text))", 200),
		"and":           "select 1 where a = 1" + rep(" and b is not null or not c", 1000),
		"between":       "select 1 where a = 1" + rep(" and b between 1 and 2", 1000),
		"case":          "select case a when 1 then 2" + rep(" when 1 then 2 + 3", 1000) + " else 4 end",
		"cases":         "select 1" + rep(", case a when 1 then 2 end", 1000),
		"statements":    rep("select a from b join c on d union select 1;", 1000),
		"merge":         "merge into t using s on a = b" + rep(" when matched and a then update set a = 1", 500),
		"columns of":    "create table t (a int" + rep(", b text not null default 'x' collate \"C\"", 1000) + ")",
		"labels":        "select a as case, b" + rep(", c as end, d as case", 1000),
		"window frames": "select 1" + rep(", sum(x) over (order by y rows between 1 preceding and current row)", 500),
	} {
		if got := Measure(text, false, unbounded); got.Depth > 60 || got.Open {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestMeasureDeep: each chain counts with a token per level at least.
func TestMeasureDeep(t *testing.T) {
	const n = 1000
	rep := func(s string) string { return strings.Repeat(s, n) }
	for _, text := range []string{
		"select 1" + rep("+1"),
		"select 1" + rep("::int"),
		"select 1" + rep(" isnull"),
		"select " + rep("not ") + "a",
		"select " + rep("- ") + "a",
		"select " + rep("-+") + "a",
		"select a" + rep(" collate c"),
		"select a" + rep(" at time zone 'x'"),
		"select 1, 2" + rep(" union select 1, 2"),
		"select 1 where a or b" + rep(" union select 1 where a or b"),
		"select 1 from a" + rep(" cross join a"),
		"select 1 from a, b" + rep(" join a on x and y, a"),
		"select 1 from a" + rep(" join a") + rep(" on x and y"),
		"select " + rep("case when a, ") + rep(" end"),
		"select " + rep("case when a and not case when b then ") + "1" + rep(" end end"),
		"select " + rep("case a when b then 1 else ") + "1" + rep(" end"),
		"select " + rep("1 between 0 and not ") + "1",
		"select " + rep("(1, ") + rep(")"),
		"select " + rep("(a and ") + "1" + rep(")"),
		"select " + rep("array[1, ") + rep("]"),
		"select " + rep("f(case when a then b as end, ") + rep(")"),
		rep("create function f() returns int begin atomic select 1, 2; select 3; ") + rep("end; "),
		"select 1" + rep("/*,*/+/**/1--,\n"),
		"select (" + rep("1, ") + rep("+ 1 ") + ")",
	} {
		if got := Measure(text, false, unbounded); got.Depth < n {
			t.Errorf("%.80s: %+v", text, got)
		}
	}
}

func TestMeasureBounds(t *testing.T) {
	if got := Measure(strings.Repeat("(", 1000), false, Size{Tokens: 10000, Depth: 100}); got.Depth <= 100 {
		t.Errorf("nesting: %+v", got)
	}
	if got := Measure(strings.Repeat("1,", 1000), false, Size{Tokens: 100, Depth: 100}); got.Tokens != 101 {
		t.Errorf("tokens: %+v", got)
	}
	if got := Measure("select 'open", false, unbounded); !got.Open || got.Tokens != 1 {
		t.Errorf("open: %+v", got)
	}
	if got := Measure("select 1 /* open", false, unbounded); !got.Open {
		t.Errorf("open comment: %+v", got)
	}
}
