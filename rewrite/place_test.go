package rewrite

import (
	"strings"
	"testing"

	"mbusproxy/sqlfuncs"
)

// echoing serves every call with a text that holds its condition, its name and an argument.
type echoing struct{ shortFragments }

func (e echoing) Fragment(f *sqlfuncs.Func, use sqlfuncs.Use) sqlfuncs.Fragment {
	if f.Serves != "dyn_consume" || !use.Condition {
		return e.shortFragments.Fragment(f, use)
	}
	return sqlfuncs.Fragment{CTEs: "{c} as (select {name}, '{}', '{1,3}', {k}, {condition}, {qname}, '{' )"}
}

// What the client wrote is never taken for a placeholder, though it looks like one.
func TestPlaceholdersOfClient(t *testing.T) {
	const sql = `select * from mbus4.dyn_consume('{condition}', selector => 't.data is null and ''{qname}{c}{k}'' is not null')`
	p := newRewriter(echoing{}).Rewrite(t.Context(), sql, utf8Session, testEnv)
	if p == nil {
		t.Fatal("not rewritten")
	}
	for _, want := range []string{`'{}', '{1,3}', 1, t.data is null and '{qname}{c}{k}' is not null`, `('{condition}')::pg_catalog.text, '{' )`} {
		if !strings.Contains(p.SQL(), want) {
			t.Errorf("no %s in %s", want, p.SQL())
		}
	}
}
