package plan

import (
	"strings"
	"testing"
)

const testSecret = "ABCDEFGHIJKLMNOP"

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
	r := &Report{Severity: "NOTICE", Code: "00000", Message: quoted}
	if !EditReport(r, testSecret) || r.Code != "42710" || r.Message != `queue "q" already exists` || !r.Internal {
		t.Errorf("got %+v", r)
	}
	other := &Report{Severity: "NOTICE", Code: "00000", Message: "text-search query doesn't contain lexemes: \" \t \""}
	forged := strings.ReplaceAll(quoted, encode("ABCDEFGHIJKLMNOP"), encode("ABCDEFGHIJKLMNOX"))
	for _, message := range []string{other.Message, forged, "\"" + encode("m4 42710 x") + "\""} {
		r := &Report{Severity: "NOTICE", Code: "00000", Message: message}
		if EditReport(r, testSecret) {
			t.Errorf("an ordinary notice is edited: %+v", r)
		}
	}
}

func TestRefuse(t *testing.T) {
	p := Refuse(Refusal{Code: "3F000", Message: "no schema", Hint: "init"}).For(testSecret)
	r := &Report{Code: "22P02", Message: `invalid input syntax for type integer: "mbus4-refusal 0 ABCDEFGHIJKLMNOP"`, Position: 8}
	if !p.EditReport(r) || r.Code != "3F000" || r.Message != "no schema" || r.Hint != "init" || r.Position != 1 {
		t.Errorf("got %+v", r)
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
		r := &Report{Code: "22P02", Message: message, Where: where, File: "numutils.c"}
		if got := EditReport(r, testSecret); got != believed || (r.Code == "42704") != believed {
			t.Errorf("%q: edited %t, %+v", where, got, r)
		}
		raised := &Report{Code: "22P02", Message: message, Where: where, File: "pl_exec.c"}
		if EditReport(raised, testSecret) {
			t.Errorf("%q: what RAISE says is edited", where)
		}
	}
}
