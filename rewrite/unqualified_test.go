package rewrite

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"mbusproxy/rewrite/detect"
	"mbusproxy/rewrite/parse"
	"mbusproxy/rewrite/place"
	"mbusproxy/rewrite/plan"
)

// serving is a Rewriter for names without a schema.
func serving(names ...string) *Rewriter {
	u, err := detect.NewUnqualified(names)
	if err != nil {
		panic(err)
	}
	return New(shortFragments{}, u, parse.New())
}

// rewriteUnqualified rewrites a text in a session that says that all is ours.
func rewriteUnqualified(ctx context.Context, sql string) *plan.Plan {
	r := serving("all")
	session := utf8Session
	session.Answer = strings.Repeat("1", len(r.Candidates(ctx, sql, session)))
	return r.Rewrite(ctx, sql, session, testEnv)
}

// The cheap test says yes to all that may hold such a call.
func TestMentionsUnqualified(t *testing.T) {
	t.Parallel()
	r := serving("all")
	for text, want := range map[string]bool{
		"select post('q', '')":                  true,
		"select PoSt \t\r\n ('q', '')":          true,
		"post(":                                 true,
		"(post(":                                true,
		`select "post" ('q')`:                   true,
		`select U&"p\006fst"('q', '')`:          true,
		"select post/**/('q', '')":              true,
		"select post -- x\n('q', '')":           true,
		"select post -- x\r('q', '')":           true,
		"select now(), lower('post')":           false,
		"select post, (1)":                      false,
		"select x.post('q')":                    false,
		"select repost('q')":                    false,
		"insert into t (post) values (1)":       false,
		"":                                      false,
		"(":                                     false,
		"select mbus4.nothing":                  true, // as before
		"select post_('q')":                     false,
		"select -- x\nnow()":                    false,
		"select 1 -- x\n + (2)":                 false,
		strings.Repeat("x", 1000) + "post('q')": false,
		strings.Repeat(" ", 1000) + "post('q')": true,
	} {
		if got := r.Mentions([]byte(text)); got != want {
			t.Errorf("%.60q: %t, want %t", text, got, want)
		}
	}
	if serving().Mentions([]byte("select post('q', '')")) {
		t.Error("without names there is nothing to be found")
	}
}

// The session's answer decides call by call, and is part of what plans are cached by.
func TestAnswers(t *testing.T) {
	t.Parallel()
	r := serving("all")
	const sql = "select post('q', 'a=>1'), peek(x), post('q', 'a=>2'), post(data => '', qname => 'q'), mbus4.peek('x') from t x"
	session := utf8Session
	var shown []string
	for _, c := range r.Candidates(t.Context(), sql, session) {
		shown = append(shown, fmt.Sprintf("%s/%d%v", c.Name, c.Args, c.Named))
	}
	if got := strings.Join(shown, " "); got != "post/2[] peek/1[] post/2[data qname]" {
		t.Fatal(got)
	}
	for range 2 {
		for answer, want := range map[string]int{"": 1, "000": 1, "100": 3, "010": 2, "001": 2, "111": 5, "1": 3} {
			for _, prepared := range []bool{false, true} {
				session.Answer, session.Prepared = answer, prepared
				p := r.Rewrite(t.Context(), sql, session, testEnv)
				if callsOf(p) != want || strings.Contains(p.SQL(), "ours_still") != (prepared && want > 1) {
					t.Errorf("%q, prepared %t: %d calls, want %d\n%s", answer, prepared, callsOf(p), want, p.SQL())
				}
			}
		}
	}
	session.Answer = "0"
	if p := r.Rewrite(t.Context(), "select post('q', 'a=>1')", session, testEnv); p != nil {
		t.Error("what is not ours is rewritten")
	}
}

func TestHintUnqualified(t *testing.T) {
	t.Parallel()
	r := serving("post", "post_*")
	for message, want := range map[string]bool{
		"function post(unknown) does not exist":       true,
		"Funktion post_q(unknown) existiert nicht":    true,
		"la fonction post(unknown) n'existe pas":      true,
		"関数post(unknown)は存在しません":                      true,
		"function peek(unknown) does not exist":       false,
		"function other.post(unknown) does not exist": false,
		"function post does not exist":                false,
	} {
		rep := &plan.Report{Code: "42883", Message: message, Hint: "No match.", File: "parse_func.c"}
		if got := r.HintUnqualified(rep); got != want || strings.Contains(rep.Hint, "mbus4.post") != want || !strings.HasPrefix(rep.Hint, "No match.") {
			t.Errorf("%s: %t, %q", message, got, rep.Hint)
		}
	}
}

// FuzzUnqualified is FuzzRewrite for texts without the schema.
func FuzzUnqualified(f *testing.F) {
	for _, file := range []string{"unqualified", "from", "targets", "places", "rows"} {
		b, err := os.ReadFile("testdata/" + file + ".sql")
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range strings.Split(string(b), "\n\n") {
			_, sql := splitComments(c)
			sql, _, _ = strings.Cut(sql, "\n----")
			f.Add(strings.ReplaceAll(sql, "mbus4.", ""))
		}
	}
	r := serving("all")
	f.Fuzz(func(t *testing.T, sql string) {
		if strings.ContainsRune(sql, 0) || !utf8.ValidString(sql) {
			return // the server takes neither
		}
		session := utf8Session
		found := len(r.Candidates(t.Context(), sql, session))
		if doc := readAll(t, r, sql, session); found == 0 && doc != nil && len(doc.Candidates()) > 0 {
			t.Fatalf("%q holds calls that the cheap test does not see", sql)
		}
		session.Answer, session.Prepared = strings.Repeat("1", found), len(sql)%2 == 0
		if p := r.Rewrite(t.Context(), sql, session, testEnv); p != nil {
			checkPlan(t, sql, p)
		}
	})
}

// readAll reads a text with all calls that may be ours.
func readAll(t *testing.T, r *Rewriter, sql string, session plan.Session) *place.Document {
	t.Helper()
	doc, err := place.Read(t.Context(), r.parser, sql, session, r.unqualified)
	if err != nil {
		t.Fatal(err)
	}
	doc.Release()
	return doc
}
