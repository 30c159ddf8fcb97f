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

func TestReportNotice(t *testing.T) {
	encode := func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			for bit := 7; bit >= 0; bit-- {
				b.WriteByte(" \t"[s[i]>>bit&1])
			}
		}
		return b.String()
	}
	quoted := "text-search query doesn't contain lexemes: \"" + encode(`m4 1 ABCDEFGHIJKLMNOP 42710 queue "q" already exists`) + `"`
	r := &plan.Report{Severity: "NOTICE", Code: "00000", Message: quoted}
	if !plan.EditReport(r, testSecret) || r.Code != "42710" || r.Message != `queue "q" already exists` || !r.Internal {
		t.Errorf("got %+v", r)
	}
	other := &plan.Report{Severity: "NOTICE", Code: "00000", Message: "text-search query doesn't contain lexemes: \" \t \""}
	forged := strings.ReplaceAll(quoted, encode("ABCDEFGHIJKLMNOP"), encode("ABCDEFGHIJKLMNOX"))
	for _, message := range []string{other.Message, forged, "\"" + encode("m4 42710 x") + "\""} {
		r := &plan.Report{Severity: "NOTICE", Code: "00000", Message: message}
		if plan.EditReport(r, testSecret) {
			t.Errorf("an ordinary notice is edited: %+v", r)
		}
	}
}

func TestRefuse(t *testing.T) {
	p := plan.Refuse(plan.Refusal{Code: "3F000", Message: "no schema", Hint: "init"}).For(testSecret)
	r := &plan.Report{Code: "22P02", Message: `invalid input syntax for type integer: "mbus4-refusal 0 ABCDEFGHIJKLMNOP"`, Position: 8}
	if !p.EditReport(r) || r.Code != "3F000" || r.Message != "no schema" || r.Hint != "init" || r.Position != 1 {
		t.Errorf("got %+v", r)
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
		{"42883", "function mbus4.nosuch(integer) does not exist", "", ""},
		{"42883", "function mbus4(integer) does not exist", "", ""},
		{"42883", "function post(integer) does not exist", "", ""},
		{"42P01", "relation \"mbus4.post(\" does not exist", "", ""},
		{"3F000", "schema \"mbus4\" does not exist", "PL/pgSQL function f()", "DO blocks"},
		{"3F000", "schema \"mbus4\" does not exist", "", ""},
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

// Functions that are stored raise errors without a secret. They are believed by the context that the server gives
// of them.
func TestStoredMarkers(t *testing.T) {
	const message = `invalid input syntax for type integer: "mbus4-error 0 42704 queue "q" does not exist"`
	for where, believed := range map[string]bool{
		`SQL function "check_queue" statement 1`:                                true,
		`SQL-Funktion »view_0123456789abcdef_post« Anweisung 1`:                 true,
		"fonction SQL « view_0123456789abcdef_consume », instruction 1":         true,
		"SQL function \"view_0123456789abcdef_post\" statement 1\nPL/pgSQL f()": true,
		"":                             false,
		`SQL function "f" statement 1`: false,
		"SQL function \"f\" statement 1\nSQL function \"check_queue\" statement 1": false,
		`SQL function "view_0123456789abcdef_post_" statement 1`:                   false,
		`SQL function "my_check_queue" statement 1`:                                false,
		`SQL function "f "check_queue" statement 1`:                                false,
	} {
		r := &plan.Report{Code: "22P02", Message: message, Where: where, File: "numutils.c"}
		if got := plan.EditReport(r, testSecret); got != believed || (r.Code == "42704") != believed {
			t.Errorf("%q: edited %t, %+v", where, got, r)
		}
		raised := &plan.Report{Code: "22P02", Message: message, Where: where, File: "pl_exec.c"}
		if plan.EditReport(raised, testSecret) {
			t.Errorf("%q: what RAISE says is edited", where)
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
