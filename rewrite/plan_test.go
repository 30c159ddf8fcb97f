package rewrite

import (
	"strings"
	"testing"
	"unicode/utf8"

	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
)

// TestPositions checks that every place of the server's text maps to the right one in the
// client's: to the very character where it was copied, to the call where it was not.
func TestPositions(t *testing.T) {
	for _, sql := range []string{
		"select mbus4.post('q', 'a=>1') from nowhere",
		"select\r\n  nonsense,\r\n  mbus4.post('q', nonsense2)\r\nfrom t",
		"select 'Ünïcödé ☃', mbus4.post('q', hstore('ключ', wrong)), alsowrong",
		"select 1; select mbus4.consume('q'); select wrong",
		"with a as (select wrong) select mbus4.post('q', hstore(a)) from a order by alsowrong",
	} {
		p := newRewriter(shortFragments{}).Rewrite(t.Context(), sql, utf8Session, testEnv)
		if p == nil || len(p.Refused()) > 0 {
			t.Fatalf("%q is not rewritten", sql)
		}
		for _, word := range []string{"nonsense", "nonsense2", "wrong", "alsowrong", "nowhere"} {
			in := strings.Index(sql, word)
			if in < 0 {
				continue
			}
			out := strings.Index(p.SQL(), word)
			r := &plan.Report{Code: "42703", Position: utf8.RuneCountInString(p.SQL()[:out]) + 1}
			want := utf8.RuneCountInString(sql[:in]) + 1
			if !p.EditReport(r) || r.Position != want {
				t.Errorf("%q in %q: position %d, want %d", word, sql, r.Position, want)
			}
		}
	}
}

const testSecret = "ABCDEFGHIJKLMNOP"

func TestReportMarkers(t *testing.T) {
	p := newRewriter(shortFragments{}).Rewrite(t.Context(), "select 'é', mbus4.post('q', 'a=>1')", utf8Session, testEnv).For(testSecret)
	for _, message := range []string{
		`invalid input syntax for type integer: "mbus4-error 1 ABCDEFGHIJKLMNOP 42704 queue "q" does not exist"`,
		`ungültige Eingabesyntax für Typ integer: »mbus4-error 1 ABCDEFGHIJKLMNOP 42704 queue "q" does not exist«`,
		`syntaxe en entrée invalide pour le type integer : « mbus4-error 1 ABCDEFGHIJKLMNOP 42704 queue "q" does not exist »`,
	} {
		r := &plan.Report{Severity: "ERROR", Code: "22P02", Message: message}
		if !p.EditReport(r) {
			t.Fatalf("%s is not recognised", message)
		}
		if r.Code != "42704" || r.Position != 13 || !r.Internal || r.Hint == "" {
			t.Errorf("%s gives %+v", message, r)
		}
		if got := strings.TrimSpace(r.Message); got != `queue "q" does not exist` {
			t.Errorf("%s gives message %q", message, got)
		}
		alone := &plan.Report{Severity: "ERROR", Code: "22P02", Message: message, Position: 3}
		if !plan.EditReport(alone, testSecret) || alone.Code != "42704" || alone.Position != 0 {
			t.Errorf("%s without a plan gives %+v", message, alone)
		}
	}
	for _, message := range []string{
		`invalid input syntax for type integer: "x"`, `mbus4-error`, `"mbus4-error 1"`, `"mbus4-error x 42704 y"`,
		// forged: without the secret, with that of plans, with another's
		`"mbus4-error 1 57P01 y"`, `"mbus4-error 1 ` + splice.BlankSecret + ` 57P01 y"`, `"mbus4-error 1 ABCDEFGHIJKLMNOX 57P01 y"`, `"mbus4-error 1  57P01 y"`,
		`"mbus4-refusal 0"`, `"mbus4-refusal 0 ABCDEFGHIJKLMNOX"`,
	} {
		r := &plan.Report{Severity: "ERROR", Code: "22P02", Message: message}
		if p.EditReport(r) || plan.EditReport(r, testSecret) {
			t.Errorf("%s is taken for a marker: %+v", message, r)
		}
	}
}

func TestRightsHint(t *testing.T) {
	p := newRewriter(shortFragments{}).Rewrite(t.Context(), "select 1, mbus4.post('q', '')", utf8Session, testEnv)
	for message, hinted := range map[string]bool{
		"permission denied for schema mbus4":   true,
		"permission denied for table queue":    true,
		"keine Berechtigung für Tabelle queue": true,
		"permission denied for table customer": false,
	} {
		r := &plan.Report{Code: "42501", Message: message, File: "aclchk.c"}
		if p.EditReport(r) != hinted || (r.Hint != "") != hinted {
			t.Errorf("%s: %+v", message, r)
		}
		raised := &plan.Report{Code: "42501", Message: message, File: "pl_exec.c"}
		if p.EditReport(raised) {
			t.Errorf("what RAISE says: %+v", raised)
		}
	}
	own := newRewriter(shortFragments{}).Rewrite(t.Context(), "insert into queue select mbus4.post('q', '')", utf8Session, testEnv)
	r := &plan.Report{Code: "42501", Message: "permission denied for table queue", File: "aclchk.c"}
	if own.EditReport(r) {
		t.Errorf("about the client's own table: %+v", r)
	}
}

// What the server says of calls that it got as they are comes with the reason; other functions are none of
// ours.
func TestUnseenHint(t *testing.T) {
	p := newRewriter(shortFragments{}).Rewrite(t.Context(), "select 1, mbus4.post('q', '')", utf8Session, testEnv)
	for _, c := range []struct {
		code, message, where, hint string
	}{
		{"42883", "function mbus4.post(unknown, unknown) does not exist", "", ""},
		{"42883", "function mbus4.post(unknown, unknown) does not exist", "PL/pgSQL function f()", "DO blocks"},
		{"42883", "Funktion mbus4.post_q(unknown) existiert nicht", "PL/pgSQL function f()", "DO blocks"},
		{"42883", "function mbus4.consume(unknown) does not exist", "PL/pgSQL function f()", "create_view"},
		{"42883", "function mbus4.at_post(text, integer) does not exist", "", "mbusproxy init"},
		{"42883", "procedure mbus4.complete_message(unknown) does not exist", "PL/pgSQL function f()", "DO blocks"},
		{"42883", "function mbus4.add_message(unknown) does not exist", "PL/pgSQL function f()", "mbus4.work_queue"},
		{"42883", "function mbus4.nosuch(integer) does not exist", "", "mbus4.readme()"},
		{"42883", "Funktion mbus4.purge(unknown) existiert nicht", "", "mbus4.clear_queue_<q>()"},
		{"42883", "la fonction mbus4.consume_dd() n'existe pas", "", "mbus4.consume('dd')"},
		{"42883", "function mbus4.purge(unknown) does not exist", "PL/pgSQL function f()", "DO blocks"},
		{"42883", "function notmbus4.post(unknown) does not exist", "", ""},
		{"42883", "function other.mbus4.post(unknown) does not exist", "", ""},
		{"42883", "function mbus4(integer) does not exist", "", ""},
		{"42883", "function post(integer) does not exist", "", ""},
		{"42P01", "relation \"mbus4.post(\" does not exist", "", ""},
		{"3F000", "schema \"mbus4\" does not exist", "PL/pgSQL function f()", "DO blocks"},
		{"3F000", "schema \"mbus4\" does not exist", "", "mbusproxy init"},
		{"3F000", "schema \"other\" does not exist", "PL/pgSQL function f()", ""},
	} {
		for _, edit := range []func(*plan.Report) bool{p.EditReport, func(r *plan.Report) bool { return plan.EditReport(r, testSecret) }} {
			r := &plan.Report{Code: c.code, Message: c.message, Where: c.where, File: map[string]string{"42883": "parse_func.c", "3F000": "namespace.c"}[c.code]}
			if edited := edit(r); edited != (c.hint != "") || !strings.Contains(r.Hint, c.hint) {
				t.Errorf("%s: hint %q, want one with %q", c.message, r.Hint, c.hint)
			}
			raised := &plan.Report{Code: c.code, Message: c.message, Where: c.where, File: "pl_exec.c"}
			if edit(raised) {
				t.Errorf("what RAISE says: %+v", raised)
			}
		}
	}
}

// A text that creates a function is forwarded, and calls in the body are explained: the server
// gives no context for them.
func TestBodies(t *testing.T) {
	long := strings.Repeat("x", cacheTextLimit)
	for sql, creates := range map[string]bool{
		"create function f() returns text language sql as $$ select mbus4.post('q', '') $$":             true,
		"CREATE /* a */ OR REPLACE PROCEDURE p() language sql as ' select mbus4.post(1, 2)'":            true,
		"select 1; create function f() returns text language sql as $$ select mbus4.post('q', '') $$":   true,
		"create function f() returns text language sql as $$ select mbus4.post('q', '" + long + "') $$": true,
		"select 'create function', \"mbus4.post\"(1, 2)":                                                false,
		"select 1; select 2, create, function as \"mbus4.post(\"":                                       false,
		"create view v as select \"mbus4.post\"(1, 2)":                                                  false,
		"create table function (\"mbus4.post\" int)":                                                    false,
		"create function f() as 'mbus4.post":                                                            true,
		"create 'mbus4.post":                                                                            false,
	} {
		r := newRewriter(shortFragments{})
		for range 2 {
			p := r.Rewrite(t.Context(), sql, utf8Session, testEnv)
			if (p != nil) != creates {
				t.Fatalf("%s: plan %v", sql[:min(len(sql), 80)], p)
			}
			if p == nil {
				continue
			}
			p = p.For(testSecret)
			if p.SQL() != sql || p.BindTime() || p.Signals() || len(p.Preludes()) > 0 {
				t.Errorf("%s is not forwarded as it is", sql)
			}
			missing := &plan.Report{Code: "42883", Message: "function mbus4.post(unknown, unknown) does not exist", File: "parse_func.c", Position: 61}
			if !p.EditReport(missing) || !strings.Contains(missing.Hint, "DO blocks") || missing.Position != 61 {
				t.Errorf("%s: %+v", sql, missing)
			}
			other := &plan.Report{Code: "42883", Message: "function nosuch() does not exist", File: "parse_func.c", Position: 61}
			if before := *other; p.EditReport(other) || *other != before {
				t.Errorf("%s: %+v", sql, other)
			}
		}
	}
	both := newRewriter(shortFragments{}).Rewrite(t.Context(), "select mbus4.post('q', ''); create function f() returns text language sql as $$ select mbus4.post('q', '') $$", utf8Session, testEnv)
	missing := &plan.Report{Code: "42883", Message: "function mbus4.post(unknown, unknown) does not exist", File: "parse_func.c", Position: utf8.RuneCountInString(both.SQL()) - 20}
	if !both.EditReport(missing) || !strings.Contains(missing.Hint, "DO blocks") {
		t.Errorf("beside a call: %+v", missing)
	}
}

// What the engine is told of when a transaction ends: calls of semaphores change no messages.
func TestWhatAPlanTellsOf(t *testing.T) {
	const release, post, consume = "select mbus4.semaphore_release('s', 1)", "select mbus4.post('q', '')", "select mbus4.consume('q')"
	const trigger, subscribe = "select mbus4.create_trigger('q', 'r')", "select mbus4.create_temporary_consumer('q')"
	for sql, want := range map[string][4]bool{
		release:                 {true, false, false, false},
		post:                    {false, true, true, false},
		consume:                 {false, true, false, false},
		release + "; " + post:   {true, true, true, false},
		consume + ";" + release: {true, true, false, false},
		trigger:                 {false, true, false, true},
		subscribe:               {false, true, false, true},
	} {
		p := newRewriter(shortFragments{}).Rewrite(t.Context(), sql, utf8Session, testEnv)
		if got := [4]bool{p.Signals(), p.Writes(), p.Posts(), p.MakesTriggers()}; got != want {
			t.Errorf("%s: semaphores, messages, posts, triggers: %v; want %v", sql, got, want)
		}
	}
}

// The secret stands in the text that is sent where the plan has room for it, and nowhere else.
func TestSecretOfAPlan(t *testing.T) {
	r := newRewriter(shortFragments{})
	const text = "select '" + splice.BlankSecret + "', mbus4.nosuch_post('q'), mbus4.post_q(1)"
	p := r.Rewrite(t.Context(), text, utf8Session, testEnv)
	one, two := p.For(testSecret), p.For("QRSTUVWXYZ234567")
	if !strings.Contains(p.SQL(), "mbus4-refusal 0 "+splice.BlankSecret+"'") || !strings.Contains(one.SQL(), "mbus4-refusal 0 "+testSecret+"'") ||
		!strings.Contains(two.SQL(), "QRSTUVWXYZ234567") || strings.Contains(two.SQL(), testSecret) || len(one.SQL()) != len(p.SQL()) {
		t.Errorf("gives\n%s\n%s\n%s", p.SQL(), one.SQL(), two.SQL())
	}
}
