package rewrite

import (
	"strings"
	"testing"
	"unicode/utf8"
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
		p := New(shortFragments{}).Rewrite(sql, utf8Session, testEnv)
		if p == nil || len(p.refusals) > 0 {
			t.Fatalf("%q is not rewritten", sql)
		}
		for _, word := range []string{"nonsense", "nonsense2", "wrong", "alsowrong", "nowhere"} {
			in := strings.Index(sql, word)
			if in < 0 {
				continue
			}
			out := strings.Index(p.SQL(), word)
			r := &Report{Code: "42703", Position: utf8.RuneCountInString(p.SQL()[:out]) + 1}
			want := utf8.RuneCountInString(sql[:in]) + 1
			if !p.EditReport(r) || r.Position != want {
				t.Errorf("%q in %q: position %d, want %d", word, sql, r.Position, want)
			}
		}
	}
}

func TestReportMarkers(t *testing.T) {
	p := New(shortFragments{}).Rewrite("select 'é', mbus4.post('q', 'a=>1')", utf8Session, testEnv)
	for _, message := range []string{
		`invalid input syntax for type integer: "mbus4-error 1 42704 queue "q" does not exist"`,
		`ungültige Eingabesyntax für Typ integer: »mbus4-error 1 42704 queue "q" does not exist«`,
		`syntaxe en entrée invalide pour le type integer : « mbus4-error 1 42704 queue "q" does not exist »`,
	} {
		r := &Report{Severity: "ERROR", Code: "22P02", Message: message}
		if !p.EditReport(r) {
			t.Fatalf("%s is not recognised", message)
		}
		if r.Code != "42704" || r.Position != 13 || !r.Internal || r.Hint == "" {
			t.Errorf("%s gives %+v", message, r)
		}
		if got := strings.TrimSpace(r.Message); got != `queue "q" does not exist` {
			t.Errorf("%s gives message %q", message, got)
		}
		alone := &Report{Severity: "ERROR", Code: "22P02", Message: message, Position: 3}
		if !EditReport(alone) || alone.Code != "42704" || alone.Position != 0 {
			t.Errorf("%s without a plan gives %+v", message, alone)
		}
	}
	for _, message := range []string{`invalid input syntax for type integer: "x"`, `mbus4-error`, `"mbus4-error 1"`, `"mbus4-error x 42704 y"`} {
		r := &Report{Severity: "ERROR", Code: "22P02", Message: message}
		if p.EditReport(r) || EditReport(r) {
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
	quoted := "text-search query doesn't contain lexemes: \"" + encode(`m4 42710 queue "q" already exists`) + `"`
	r := &Report{Severity: "NOTICE", Code: "00000", Message: quoted}
	if !EditReport(r) || r.Code != "42710" || r.Message != `queue "q" already exists` || !r.Internal {
		t.Errorf("got %+v", r)
	}
	other := &Report{Severity: "NOTICE", Code: "00000", Message: "text-search query doesn't contain lexemes: \" \t \""}
	if EditReport(other) {
		t.Errorf("an ordinary notice is edited: %+v", other)
	}
}

func TestRefuse(t *testing.T) {
	p := Refuse("select 'é', mbus4.post('q', '')", "UTF8", Refusal{Code: "3F000", Message: "no schema", Hint: "init"})
	r := &Report{Code: "22P02", Message: `invalid input syntax for type integer: "mbus4-refusal 0"`, Position: 8}
	if !p.EditReport(r) || r.Code != "3F000" || r.Message != "no schema" || r.Hint != "init" || r.Position != 1 {
		t.Errorf("got %+v", r)
	}
}

func TestRightsHint(t *testing.T) {
	p := New(shortFragments{}).Rewrite("select 1, mbus4.post('q', '')", utf8Session, testEnv)
	for message, hinted := range map[string]bool{
		"permission denied for schema mbus4":   true,
		"permission denied for table queue":    true,
		"keine Berechtigung für Tabelle queue": true,
		"permission denied for table customer": false,
	} {
		r := &Report{Code: "42501", Message: message}
		if p.EditReport(r) != hinted || (r.Hint != "") != hinted {
			t.Errorf("%s: %+v", message, r)
		}
	}
}

// What the server says of calls that it got as they are comes with the reason; other functions are none of
// ours.
func TestUnseenHint(t *testing.T) {
	p := New(shortFragments{}).Rewrite("select 1, mbus4.post('q', '')", utf8Session, testEnv)
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
		for _, edit := range []func(*Report) bool{p.EditReport, EditReport} {
			r := &Report{Code: c.code, Message: c.message, Where: c.where}
			if edited := edit(r); edited != (c.hint != "") || !strings.Contains(r.Hint, c.hint) {
				t.Errorf("%s: hint %q, want one with %q", c.message, r.Hint, c.hint)
			}
		}
	}
}
