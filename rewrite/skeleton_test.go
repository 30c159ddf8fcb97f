package rewrite

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/plan"
)

// fillLiterals returns text with other contents in its strings and other numbers.
func fillLiterals(text, with, number string) string {
	_, literals := lex.Skeleton(text, lex.UTF8, false)
	var b strings.Builder
	pos := 0
	for _, l := range literals {
		b.WriteString(text[pos:l.Start])
		switch {
		case l.Big:
			b.WriteString("3000000000" + number[:min(len(number), 8)])
		case l.Number:
			b.WriteString(number)
		default:
			b.WriteString(with)
		}
		pos = l.End
	}
	return b.String() + text[pos:]
}

// TestTransfer checks on all golden cases that a plan made from that of another text is the plan
// that the text itself gives.
func TestTransfer(t *testing.T) {
	files, err := filepath.Glob("testdata/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	moved := 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range strings.Split(string(b), "\n\n") {
			_, sql := splitComments(c)
			sql, _, _ = strings.Cut(sql, "\n----")
			for with, number := range map[string]string{"": "1", "x": "22", "a longer one, with mbus4.post(''q'')": "0", "ключ\\": "333333333"} {
				if checkTransfer(t, sql, fillLiterals(sql, with, number)) {
					moved++
				}
			}
		}
	}
	if moved < 100 {
		t.Errorf("only %d plans were moved", moved)
	}
}

// checkTransfer compares the plan for other, made from that for text, with the one made afresh.
func checkTransfer(t *testing.T, text, other string) bool {
	t.Helper()
	r := newRewriter(shortFragments{})
	if r.Rewrite(t.Context(), text, utf8Session, testEnv) == nil || text == other {
		return false
	}
	got, want := r.Rewrite(t.Context(), other, utf8Session, testEnv), newRewriter(shortFragments{}).Rewrite(t.Context(), other, utf8Session, testEnv)
	if want == nil {
		t.Fatalf("%q calls, %q does not", text, other)
	}
	if got.SQL() != want.SQL() {
		t.Fatalf("moved from %q to %q:\n%s\nafresh:\n%s", text, other, got.SQL(), want.SQL())
	}
	if len(got.Refused()) == 0 {
		checkPlan(t, other, got)
	}
	switch g, w := got.Prepared(), want.Prepared(); {
	case (g == nil) != (w == nil):
		t.Errorf("moved from %q to %q: prepared %v, afresh: %v", text, other, g, w)
	case g != nil && (g.SQL() != w.SQL() || !slices.Equal(g.Values(), w.Values())):
		t.Errorf("moved from %q to %q: prepared\n%s %q\nafresh:\n%s %q", text, other, g.SQL(), g.Values(), w.SQL(), w.Values())
	}
	got, want = got.Unprepared().Made(), want.Unprepared().Made() // each has an ID of its own
	if !reflect.DeepEqual(got, want) {
		t.Errorf("moved from %q to %q:\n%+v\nafresh:\n%+v", text, other, got, want)
	}
	if !reflect.DeepEqual(got.Selectors(), want.Selectors()) || !reflect.DeepEqual(got.Preludes(), want.Preludes()) {
		t.Errorf("moved from %q to %q:%s\nafresh:%s", text, other, describe(got), describe(want))
	}
	return true
}

// A plan that writes less than the client did, moved to a text shorter still.
func TestTransferOfRefusal(t *testing.T) {
	const call = "select mbus4.run_0('a text that is longer than what stands for a statement refused')"
	if !checkTransfer(t, call, "select mbus4.run_0('')") {
		t.Error("not moved")
	}
}

// A text that holds what stands for a literal elsewhere is not taken for one that was seen before.
func TestSkeletonMarks(t *testing.T) {
	r := newRewriter(shortFragments{})
	for _, sql := range []string{"select 1 from mbus4.peek('')", "select 1 /* 7 */ from mbus4.peek('a')"} {
		if r.Rewrite(t.Context(), sql, utf8Session, testEnv) == nil {
			t.Fatal("not rewritten")
		}
	}
	if p := r.Rewrite(t.Context(), "select \x01 from mbus4.peek('')", utf8Session, testEnv); p != nil {
		t.Errorf("rewritten: %s", p.SQL())
	}
	const marked = "select 1 /* \x01 */ from mbus4.peek('bc')"
	for range 2 {
		if p := r.Rewrite(t.Context(), marked, utf8Session, testEnv); p == nil || !strings.Contains(p.SQL(), "/* \x01 */") || !strings.Contains(p.SQL(), "'bc'") {
			t.Errorf("%q gives %v", marked, p)
		}
	}
}

func FuzzSkeleton(f *testing.F) {
	f.Add("select mbus4.post('q', 'a=>1')", "b")
	f.Add("select mbus4.post('q', $$a$$, E'x\\'', U&'y') -- it's", "b''c")
	f.Fuzz(func(t *testing.T, sql, with string) {
		if strings.ContainsRune(sql+with, 0) || !utf8.ValidString(sql) || !utf8.ValidString(with) {
			return // the server takes neither
		}
		if strings.Contains(strings.ReplaceAll(with, "''", ""), "'") {
			return
		}
		checkTransfer(t, sql, fillLiterals(sql, with, "12"))
	})
}

func TestEscapeStrings(t *testing.T) {
	const sql = `select 'it\'s', mbus4.post('q', 'a=>"\'"') from wrong`
	p := newRewriter(shortFragments{}).Rewrite(t.Context(), sql, plan.Session{Encoding: "UTF8", EscapeStrings: true}, testEnv)
	if p == nil || !strings.Contains(p.SQL(), `(row('a=>"\'"')::mbus4_hstore.given).value`) {
		t.Fatalf("not rewritten with backslashes that escape: %v", p)
	}
	if p := newRewriter(shortFragments{}).Rewrite(t.Context(), sql, utf8Session, testEnv); p != nil {
		t.Errorf("rewritten though the text does not parse: %s", p.SQL())
	}
}

func TestVoidParameters(t *testing.T) {
	r := newRewriter(shortFragments{})
	const sql = "select * from mbus4.post($1,$2,$3) as result"
	p := r.Rewrite(t.Context(), sql, plan.Session{Encoding: "UTF8", Void: []int{1}}, testEnv)
	if p == nil || !strings.Contains(p.SQL(), "($2)::pg_catalog.text, (row($3)::mbus4_hstore.given).value") {
		t.Fatalf("a void parameter is taken for an argument: %v", p)
	}
	if p := r.Rewrite(t.Context(), sql, utf8Session, testEnv); !strings.Contains(p.SQL(), "($1)::pg_catalog.text") {
		t.Errorf("without it the first parameter is an argument: %s", p.SQL())
	}
	p = r.Rewrite(t.Context(), "select * from mbus4.peek_q($1) as result", plan.Session{Void: []int{1}}, testEnv)
	if strings.Contains(p.SQL(), "$1") {
		t.Errorf("a void parameter is taken for an argument: %s", p.SQL())
	}
}

func TestCannotCoerce(t *testing.T) {
	for _, c := range []struct{ argument, cast, message, detail, want string }{
		{"'{}'::json", ")::mbus4_hstore.hstore", "cannot cast type json to mbus4_hstore.hstore", "", "cannot cast type json to hstore"},
		{"$1", ")::mbus4_hstore.given", "cannot cast type record to mbus4_hstore.given", "Cannot cast type json to hstore in column 1.", "Cannot cast type json to hstore in column 1."},
	} {
		sql := "select mbus4.post('q', " + c.argument + ")"
		p := newRewriter(shortFragments{}).Rewrite(t.Context(), sql, utf8Session, testEnv)
		r := &plan.Report{Code: "42846", Message: c.message, Detail: c.detail, Position: strings.Index(p.SQL(), c.cast) + 2}
		if !p.EditReport(r) || r.Code != "42883" || r.Position != strings.Index(sql, c.argument)+1 || r.Detail != c.want || !strings.Contains(r.Hint, "data hstore") || !strings.Contains(r.Hint, "Of JSON") {
			t.Errorf("got %+v", r)
		}
	}
}
