package rewrite

import (
	"fmt"
	"strings"
	"testing"

	"mbusproxy/rewrite/plan"
)

// selectorOf returns the only selector of a text.
func selectorOf(t *testing.T, r *Rewriter, sql string, session plan.Session) plan.Value {
	t.Helper()
	p := r.Rewrite(t.Context(), sql, session, testEnv)
	if p == nil {
		t.Fatalf("%q is forwarded", sql)
	}
	if len(p.Refused()) > 0 {
		t.Fatalf("%q is refused: %v", sql, p.Refused()[0])
	}
	if len(p.Selectors()) != 1 {
		t.Fatalf("%q has selectors %+v", sql, p.Selectors())
	}
	return p.Selectors()[0]
}

// TestSelectorFollowsTheText checks that a plan out of the cache gives the literal of its own text.
func TestSelectorFollowsTheText(t *testing.T) {
	for _, session := range []plan.Session{utf8Session, {Encoding: "UTF8", EscapeStrings: true}, {Encoding: "LATIN1"}, {Encoding: "SJIS"}} {
		r := newRewriter(shortFragments{})
		for literal, want := range map[string]string{
			`'a'`:                        `a`,
			`''`:                         ``,
			`'(t.data->''a'')=''long'''`: `(t.data->'a')='long'`,
		} {
			sql := "select 'é', 12, mbus4.create_consumer('q', 'c', " + literal + "::text)"
			if session.Encoding != "UTF8" {
				sql = strings.ReplaceAll(sql, "é", "\x95\x5c")
			}
			got := selectorOf(t, r, sql, session)
			if got.Text != want || got.Offset != strings.Index(sql, literal+"::text") {
				t.Errorf("%q gives %+v, want %q", sql, got, want)
			}
		}
		if n := len(r.cache.entries); n != 1 {
			t.Errorf("%d plans are cached", n)
		}
	}
}

func TestSelectorWithEscapes(t *testing.T) {
	r := newRewriter(shortFragments{})
	session := plan.Session{Encoding: "UTF8", EscapeStrings: true}
	for literal, want := range map[string]string{
		`'t.iid=\'a\''`:    `t.iid='a'`,
		`'\u0441\n'`:       "с\n",
		`E't.iid=\'a\''`:   `t.iid='a'`,
		`$$t.iid='a\n'$$`:  `t.iid='a\n'`,
		`'t.iid=''\\d'''`:  `t.iid='\d'`,
		"'a'\n'\\t'::text": "a\t",
	} {
		sql := "select 'it\\'s', mbus4.create_trigger('a', 'b', " + literal + ")"
		if got := selectorOf(t, r, sql, session); got.Text != want {
			t.Errorf("%s gives %q, want %q", literal, got.Text, want)
		}
	}
}

// TestUnreadLiteral checks that a literal which cannot be read is refused, and spoils no other text
// of its skeleton.
func TestUnreadLiteral(t *testing.T) {
	r := newRewriter(shortFragments{})
	session := plan.Session{Encoding: "LATIN1", EscapeStrings: true}
	const sql = "select 1; select mbus4.create_trigger('a', 'b', '%')"
	for range 2 {
		bad := strings.ReplaceAll(sql, "%", `\u00e9`)
		p := r.Rewrite(t.Context(), bad, session, testEnv)
		if len(p.Refused()) != 1 || p.Refused()[0].Code != "0A000" || p.Refused()[0].Offset != strings.Index(bad, `'\u`) ||
			p.SQL() != "select 1; select 'mbus4-refusal 0 _session_secret_'::pg_catalog.int4" || p.BindTime() || len(p.Selectors()) > 0 {
			t.Errorf("gives %s and %+v", p.SQL(), p.Refused())
		}
		if got := selectorOf(t, r, strings.ReplaceAll(sql, "%", "caf\xe9"), session); got.Text != "caf\xe9" {
			t.Errorf("gives %+v", got)
		}
	}
}

func TestBindTime(t *testing.T) {
	for sql, want := range map[string]bool{
		"select mbus4.post('q', $1)":                    false,
		"select mbus4.create_trigger($1, $2)":           false,
		"select mbus4.create_trigger($1, $2, '1=1')":    false,
		"select mbus4.create_trigger($1, $2, $3)":       true,
		"select mbus4.run_on_q('x')":                    true,
		"select mbus4.dyn_consume('q', $1)":             false,
		"select mbus4.run_on_q('a' || 'x')":             true,
		"select mbus4.create_temporary_consumer('q')":   false,
		"select mbus4.create_temporary_consumer($1,$2)": true,
	} {
		if p := newRewriter(shortFragments{}).Rewrite(t.Context(), sql, utf8Session, testEnv); p.BindTime() != want {
			t.Errorf("%s: late is %v", sql, p.BindTime())
		}
	}
}

func TestRefuseValue(t *testing.T) {
	r := newRewriter(shortFragments{})
	for _, selector := range []string{"1=1", "now() > t.added"} {
		sql := "select 'é'; select mbus4.create_trigger('a', 'b', '" + selector + "') /* x */; select 2"
		p := r.Rewrite(t.Context(), sql, utf8Session, testEnv)
		v := p.Selectors()[0]
		q := p.Refuse(v.Offset, plan.Refusal{Code: "42P17", Message: "not immutable"})
		if want := "select 'é'; select 'mbus4-refusal 0 _session_secret_'::pg_catalog.int4 /* x */; select 2"; q.SQL() != want {
			t.Errorf("gives %s, want %s", q.SQL(), want)
		}
		rep := &plan.Report{Code: "22P02", Message: `invalid input syntax for type integer: "mbus4-refusal 0 _session_secret_"`, Position: 8}
		if !q.EditReport(rep) || rep.Code != "42P17" || rep.Position != strings.Index(sql, "'"+selector) {
			t.Errorf("the report becomes %+v", rep)
		}
		after := &plan.Report{Code: "42601", Position: strings.Index(q.SQL(), " 2")}
		if q.EditReport(after); after.Position != strings.Index(sql, " 2") {
			t.Errorf("a report behind the refusal becomes %+v", after)
		}
		if len(p.Refused()) > 0 || len(p.Selectors()) != 1 {
			t.Errorf("the plan itself has changed")
		}
	}
}

// What is known of a text whose literals differ is read from its own.
func TestComputedValuesOfTheSameSkeleton(t *testing.T) {
	r := newRewriter(shortFragments{})
	rewrite := func(sql string) *plan.Plan { return r.Rewrite(t.Context(), sql, utf8Session, testEnv) }
	const sql = "select mbus4.create_consumer('q', 'c', 'A' || $1), mbus4.run_on_q(format('B %s', $1, 'C'))"
	rewrite(sql)
	other := strings.NewReplacer("'q'", "'a longer queue'", "A", "", "B", "it''s", "C", "x").Replace(sql)
	p := rewrite(other)
	if got := show(p.Selectors()[0]); got != `("" || $1)` {
		t.Errorf("the selector is %s", got)
	}
	step := p.Preludes()[0]
	if got := show(step.Args["exec"]); got != `evaluated "format('it''s %s', " $1 ", 'x')"` || step.Args["exec"].Offset != strings.Index(other, "format") {
		t.Errorf("exec is %s at %d", got, step.Args["exec"].Offset)
	}
	if n := fmt.Sprint(step.Args["exec"].Parameters(), p.Selectors()[0].Parameters()); n != "[1] [1]" {
		t.Errorf("the parameters are %s", n)
	}
}
