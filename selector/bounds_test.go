package selector

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// Everything that a client can make grow is refused beyond its bound, and soon.
func TestBounds(t *testing.T) {
	t.Parallel()
	const n = "(t.data->'n')::int"
	nest := func(open, inner, shut string, times int) string {
		return strings.Repeat(open, times) + inner + strings.Repeat(shut, times)
	}
	for _, c := range []struct{ name, text, code string }{
		{"bytes", "true or t.iid = '" + strings.Repeat("x", maxText) + "'", codeProgramLimit},
		{"words", "true" + strings.Repeat(" or true", 1000), codeTooComplex},
		{"depth", nest("not ", "true", "", 300), codeTooComplex},
		{"parentheses", nest("(", "true", ")", 900), ""},
		{"a chain", "t.id = 0" + strings.Repeat(" + t.id", 300), codeTooComplex},
		{"divisors", nest("t.id / (", "t.id", ")", 60) + " = 1", codeTooComplex},
		{"casts", nest("(", n, ")::text::int", 30) + " = 1", codeTooComplex},
		{"nullif", nest("nullif(", "t.iid", ", 'x')", 40) + " = 'x'", codeTooComplex},
		{"greatest", "greatest(" + strings.Repeat(n+"+1,", 100) + "1) = 1", codeTooComplex},
		{"digits", n + "::numeric" + strings.Repeat(" * "+n+"::numeric", 110) + " = 1", codeTooComplex},
		{"integers of many digits", "t.id" + strings.Repeat(" * t.id", 60) + " = 1", codeTooComplex},
		{"exponents", "1e90::float8" + strings.Repeat(" * 1e90::float8", 4) + " > t.id", codeTooComplex},
		{"small exponents", "1e-90::float8" + strings.Repeat(" / 1e90::float8", 4) + " > t.id", codeTooComplex},
		{"replacing", "replace(t.iid, 'a', '" + strings.Repeat("b", 300) + "') = ''", codeTooComplex},
		{"a pattern", "t.iid ~ '" + strings.Repeat("x", 201) + "'", codeProgramLimit},
		{"repeated repetition", "t.iid ~ '((a{50}){50}){50}'", codeTooComplex},
		{"groups", "t.iid ~ '" + nest("(", "a", ")", 60) + "'", codeTooComplex},
		{"anchors", "t.iid ~ '" + strings.Repeat("(^|$)", 6) + "'", codeTooComplex}, // Postgres would look at 20 for 8 s, and raise
		{"repeated anchors", `t.iid ~ '(a|b\y)+'`, "2201B"},
		{"anchors that are not repeated", `t.iid ~ '^(a|b)+$|(^|,)c{0,3}\y'`, ""},
		{"pattern of LIKE", "t.iid like '" + strings.Repeat("x%", 501) + "'", codeProgramLimit},
		{"elements", "t.id = any ('{" + strings.Repeat("1,", 1000) + "1}')", codeInvalidText},
		{"elements with each other", "array['" + strings.Repeat("x','", 100) + "x'] && avals(data)", codeNotSupported},
		{"IN", "t.id in (" + strings.Repeat("1,", 900) + "1)", ""},
		{"IN with many that fail", n + " in (" + strings.Repeat(n+",", 150) + "1)", codeTooComplex},
		{"CASE", "case " + strings.Repeat("when "+n+" = 1 then true ", 130) + "end", codeTooComplex},
		{"long texts put together", strings.Repeat("t.iid || ", 100) + "'' = 'x'", ""},
	} {
		start := time.Now()
		s, err := compile(c.text, testEnv)
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%s: took %v", c.name, d)
		}
		var refused *Error
		switch {
		case errors.As(err, &refused):
			if refused.Code != c.code || refused.Hint == "" {
				t.Errorf("%s: got %s %s (hint %q), want %q", c.name, refused.Code, refused.Message, refused.Hint, c.code)
			}
		case c.code != "":
			t.Errorf("%s: a condition of %d bytes, want %s", c.name, len(s.Condition), c.code)
		}
	}
}

// Texts of the greatest length and nesting get through the parser, whatever is nested.
func TestDeepTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		open, inner, shut string
		words             int
	}{
		{"not ", "true", "", 1},
		{"(", "true", ")", 2},
		{"- ", "1", "", 1},
		{"", "1", "+1", 2},
		{"", "1", "||1", 2},
		{"1+(", "1", ")", 4},
		{"", "1", "::int", 2},
		{"", "1", " is null", 2},
		{"", "t.iid", ` collate "C"`, 2},
		{"", "t", "[1]", 3},
		{"", "(t)", ".x", 2},
		{"case when ", "true", " then 1 end", 5},
		{"array[", "1", "]", 3},
		{"lower(", "t.iid", ")", 3},
		{"cast(", "1", " as int)", 5},
		{"(select ", "1", ")", 3},
		{"exists(select ", "1", ")", 4},
		{"", "true", " and true", 2},
		{"", "1", " union select 1", 3},
		{"coalesce(", "1", ")", 3},
		{"", "1", " = any (array[1", 6},
		{"", "t.id", " between 1 and 2", 4},
		{"row(", "1", ")", 3},
		{"", "1", " at time zone 'x'", 4},
		{"", "1", " in (1)", 4},
		{"", "1", " is distinct from 1", 4},
	} {
		n := (maxTokens - 10) / c.words
		if _, err := compile(strings.Repeat(c.open, n)+c.inner+strings.Repeat(c.shut, n), testEnv); err == nil && c.shut != " and true" && c.open != "(" {
			t.Errorf("%s%s%s: is taken", c.open, c.inner, c.shut)
		}
	}
}

func TestInvalidTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"t.iid = '\xff'", "t.iid = 'a\x00'", "\x00", "", " \n", "'", `"`, "$$", "E'\\", "U&'\\0000' = t.iid", "t.iid = U&'\\d800'", "1 = ", "((((", "t.", ".t", "::int", "t.iid::", "-", "->", "case", "array[]", "()", "t.data->'a'[1]", "row()"} {
		if s, err := compile(text, testEnv); err == nil {
			t.Errorf("%q: %s", text, s.Condition)
		}
	}
}

// The schema of hstore may have any name.
func TestHstoreSchema(t *testing.T) {
	t.Parallel()
	env := Env{HstoreSchema: `"My ""Ext"`, Major: 15}
	s, err := compile(`t.data -> 'a' = 'x' and t.data = 'a=>1'::"My ""Ext".hstore and t.data operator("My ""Ext".?) 'b'`, env)
	if err != nil {
		t.Fatal(err)
	}
	const want = `case when (((t.data operator("My ""Ext".->) 'a'::pg_catalog.text) operator(pg_catalog.=) 'x'::pg_catalog.text) and ` +
		`(t.data operator("My ""Ext".=) '"a"=>"1"'::"My ""Ext".hstore) and (t.data operator("My ""Ext".?) 'b'::pg_catalog.text)) then 1 else 0 end`
	if s.Condition != want {
		t.Errorf("got %s", s.Condition)
	}
}
