package rewrite

import (
	"strings"
	"testing"

	"mbusproxy/sqlfuncs"
)

// echoing serves every call with a text that holds its condition, its mark and an argument.
type echoing struct{ shortFragments }

func (e echoing) Fragment(f *sqlfuncs.Func, use sqlfuncs.Use, names sqlfuncs.Names) sqlfuncs.Fragment {
	if f.Serves != "dyn_consume" || use.Condition == "" {
		return e.shortFragments.Fragment(f, use, names)
	}
	return sqlfuncs.Fragment{CTEs: names.Call + " as (select '{}', '" + names.Mark + "', " + use.Condition + ", " + names.Argument("qname") + ", '{' )"}
}

// The secret and the arguments stand in their places, and what the client wrote is never taken for a place.
func TestPlaces(t *testing.T) {
	const secret = "ABCDEFGHIJKLMNOP"
	const sql = `select * from mbus4.dyn_consume('{{.Call}}', selector => 't.data is null and '' secret '' || ''{{.Mark}}'' is not null')`
	p := newRewriter(echoing{}).Rewrite(t.Context(), sql, utf8Session, testEnv)
	if p == nil {
		t.Fatal("not rewritten")
	}
	p = p.For(secret)
	for _, want := range []string{`'1 ` + secret + `', t.data is null and ' secret ' || '{{.Mark}}' is not null`, `('{{.Call}}')::pg_catalog.text, '{' )`} {
		if !strings.Contains(p.SQL(), want) {
			t.Errorf("no %s in %s", want, p.SQL())
		}
	}
	if strings.Contains(p.SQL(), "\x00") {
		t.Errorf("a place was left in %q", p.SQL())
	}
}

// No client can send a zero byte, which marks a place: to the parser it is the end of the text, as
// it is in the protocol.
func TestZeroByte(t *testing.T) {
	for _, sql := range []string{
		"select * from mbus4.dyn_consume('q', selector => 't.iid = ''" + sqlfuncs.SecretPlace + "''')",
		"select mbus4.post('" + sqlfuncs.SecretPlace + "', '')", "select mbus4.\"post_" + sqlfuncs.SecretPlace + "\"('')",
		"select mbus4.take('" + sqlfuncs.ArgPlace("qname") + "')",
	} {
		if p := newRewriter(echoing{}).Rewrite(t.Context(), sql, utf8Session, testEnv); p != nil {
			t.Errorf("%q became %q", sql, p.SQL())
		}
	}
}
