package selector

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// dearKinds make selectors that cost the more, the greater n is.
var dearKinds = []struct {
	name string
	text func(n int) string
}{
	{"LIKE on texts put together", func(n int) string {
		return "(" + strings.Repeat("t.iid || ", n) + "'') like '%" + strings.Repeat("a", 100) + "b%'"
	}},
	{"LIKE with many letters", func(n int) string { return "t.iid like '%" + strings.Repeat("a", n) + "b'" }},
	{"LIKE with any letters", func(n int) string { return "t.iid like '%a" + strings.Repeat("_", n) + "b'" }},
	{"ILIKE", func(n int) string { return "t.iid ilike '%" + strings.Repeat("Aa", n) + "b%'" }},
	{"many LIKE", func(n int) string {
		return "true" + strings.Repeat(" and t.iid not like '%"+strings.Repeat("a", 40)+"b%'", n)
	}},
	{"replacing", func(n int) string {
		return strings.Repeat("replace(", n) + "t.iid" + strings.Repeat(", 'a', 'aa')", n) + " = 'x'"
	}},
	{"many capitals", func(n int) string {
		return strings.Repeat("lower(upper(", n) + "t.iid" + strings.Repeat("))", n) + " = 'x'"
	}},
	{"translating", func(n int) string { return "translate(t.iid, '" + strings.Repeat("x", n) + "', '') = ''" }},
	{"trimming", func(n int) string { return "btrim(t.iid, '" + strings.Repeat("x", n) + "a') = 'x'" }},
	{"arrays", func(n int) string {
		return "true" + strings.Repeat(" and 'x' <> all (string_to_array(t.iid, 'a'))", n)
	}},
	{"elements", func(n int) string {
		return "lower(t.iid) in ('" + strings.Repeat("x", 3000) + "'" + strings.Repeat(", 'x'", n) + ")"
	}},
	{"repeats", func(n int) string { return fmt.Sprintf("t.iid ~ '[a-z]{1,%d}b'", n) }},
	{"two repeats", func(n int) string { return fmt.Sprintf("t.iid ~* '(a|b){1,%d}(ab|c*d?){%d}x'", n, n/2) }},
	{"many regular expressions", func(n int) string {
		var b strings.Builder
		b.WriteString("true")
		for i := range n {
			fmt.Fprintf(&b, ` and t.iid !~ 'a{%d}b\d+$'`, i%100+1)
		}
		return b.String()
	}},
	{"anchors", func(n int) string { return "t.iid ~ '" + strings.Repeat("(^|$)", n) + "'" }},
	{"ends of words", func(n int) string { return `t.iid ~ '` + strings.Repeat(`(\y|a)`, n) + "'" }},
	{"many ends of words", func(n int) string { return `t.iid ~ '` + strings.Repeat(`(\m|\M|\y|^|$)`, n) + "'" }},
	{"a payload", func(n int) string { return "true" + strings.Repeat(" and not t.payload @> '{\"a\": 1}'", n) }},
	{"lists in a payload", func(n int) string {
		return "t.payload @> '[" + strings.Repeat("\"x\",", n) + "\"x\"]'"
	}},
	{"keys", func(n int) string {
		return "akeys(t.data) && array['" + strings.Repeat("x','", n) + "x']"
	}},
}

// The dearest selector of each kind that is let through is evaluated soon, whatever message of usual size is posted.
func TestDearestSelectors(t *testing.T) {
	t.Parallel()
	conn := newDatabase(t, "template template0 encoding UTF8 locale 'C.UTF-8'")
	// A bound of 50 ms is for an idle machine and usual texts; this is for one under load.
	if _, err := conn.Exec(t.Context(), "set statement_timeout = '4s'"); err != nil {
		t.Fatal(err)
	}
	texts := []string{"repeat('a', 8000)", "repeat('ab ', 2700)", "repeat(E'b\\na', 2700)", "repeat('é', 4000)"}
	for i, text := range texts {
		if _, err := conn.Exec(t.Context(), fmt.Sprintf(`insert into message (n, iid, data, headers)
			select %d, %s, hstore(array(select 'k' || n from generate_series(1, 500) n), array(select 'v' from generate_series(1, 500))),
				hstore('json.payload', (select jsonb_agg('y' || n) from generate_series(1, 900) n)::text)`, i, text)); err != nil {
			t.Fatal(err)
		}
	}
	// As for a message that is posted, each look at the payload reads it anew.
	const row = "(select n, id, iid, headers, properties, data, mbus4.payload(headers, data) payload from message) t where n = $1"
	for _, kind := range dearKinds {
		most := 0
		for step := 256; step > 0; step /= 2 {
			if _, err := compile(kind.text(most+step), testEnv); err == nil {
				most += step
			}
		}
		if most == 0 {
			t.Errorf("%s: none is accepted: %v", kind.name, refusal(t, kind.text(1)))
			continue
		}
		s, err := compile(kind.text(most), testEnv)
		if err != nil {
			t.Fatalf("%s: %v", kind.name, err)
		}
		slowest := time.Duration(0)
		for i := range texts {
			begun := time.Now()
			var result int
			if err := conn.QueryRow(t.Context(), "select "+s.Condition+" from "+row, i).Scan(&result); err != nil {
				t.Errorf("%s, %d times, with %s: %v", kind.name, most, texts[i], err)
			}
			slowest = max(slowest, time.Since(begun))
		}
		t.Logf("%s: %d times, %v; then %v", kind.name, most, slowest.Round(time.Millisecond), refusal(t, kind.text(most+1)))
	}
}

func refusal(t *testing.T, text string) *Error {
	t.Helper()
	_, err := compile(text, testEnv)
	var refused *Error
	if err != nil && !errors.As(err, &refused) {
		t.Fatal(err)
	}
	return refused
}

// What takes most of the time is named by its place.
func TestPlaceOfTheDearest(t *testing.T) {
	t.Parallel()
	dear := "replace(replace(t.iid, 'a', 'aaaa'), 'a', 'aaaa') || replace(replace(t.iid, 'a', 'aaaa'), 'a', 'aaaa')"
	sought := "like '%" + strings.Repeat("a", 400) + "b%'"
	text := "t.iid = 'x' and " + dear + " " + sought
	refused := refusal(t, text)
	if refused == nil || refused.Code != codeTooComplex || !strings.HasPrefix(refused.Message, "evaluating the selector could take ") || refused.Hint != hintCheaper {
		t.Fatalf("got %+v", refused)
	}
	if at := text[refused.Offset:]; refused.Offset < strings.Index(text, dear) || !strings.Contains(at, sought) {
		t.Errorf("it points at %q", at)
	}
}
