package calls

import (
	"strings"
	"testing"

	"mbusproxy/sqlfuncs"
)

// Every function of the catalogue has its SQL in each use, with all placeholders known.
func TestFragments(t *testing.T) {
	t.Parallel()
	texts := New()
	for _, f := range sqlfuncs.All() {
		for _, use := range []sqlfuncs.Use{
			{},
			{Rows: true},
			{Ordered: true},
			{Rows: true, Ordered: true},
			{Given: map[string]bool{"headers": true}},
			{Given: map[string]bool{"iid": true}},
		} {
			got := texts.Fragment(f, use)
			text := got.CTEs + got.Expr
			if (got.CTEs == "") == (got.Expr == "") || (got.CTEs != "") != (f.Effect == sqlfuncs.Writes) {
				t.Errorf("%s: %+v gives %+v", f.Name, use, got)
			}
			rest := strings.NewReplacer("{c}", "", "{k}", "", "{hstore}", "", "{name}", "").Replace(text)
			for _, p := range f.Params {
				rest = strings.ReplaceAll(rest, "{"+p.Name+"}", "")
			}
			if i := strings.IndexAny(strings.ReplaceAll(rest, "'{}'", ""), "{}"); i >= 0 && !strings.Contains(rest, "{1,32}") {
				t.Errorf("%s: unknown placeholder in %s", f.Name, rest)
			}
			if got.CTEs != "" && !strings.Contains(text, "{c} as (") {
				t.Errorf("%s: no result in %s", f.Name, text)
			}
		}
	}
}

// In place every function but the steps has an expression that holds each argument once.
func TestFragmentsInPlace(t *testing.T) {
	t.Parallel()
	texts := New()
	for _, f := range sqlfuncs.All() {
		given := map[string]bool{}
		for _, p := range f.Params {
			given[p.Name] = true
		}
		for _, use := range []sqlfuncs.Use{{InPlace: true}, {InPlace: true, Given: given}, {InPlace: true, Given: given, Ordered: true}} {
			if f.Step {
				continue
			}
			expr := texts.Fragment(f, use).Expr
			for name := range use.Given {
				if strings.Count(expr, "{"+name+"}") != 1 {
					t.Errorf("%s: parameter %s is not once in %s", f.Name, name, expr)
				}
			}
			if !strings.Contains(expr, "mbus4.") {
				t.Errorf("%s: no function in %s", f.Name, expr)
			}
		}
	}
}

// Waking what waits is left out where nothing does, and only there.
func TestFragmentsWake(t *testing.T) {
	t.Parallel()
	texts := New()
	woke := 0
	for _, f := range sqlfuncs.All() {
		plain, ordered := texts.Fragment(f, sqlfuncs.Use{}).CTEs, texts.Fragment(f, sqlfuncs.Use{Ordered: true}).CTEs
		if strings.Contains(plain, "mbus4.wakeable") {
			t.Errorf("%s wakes where nothing waits", f.Name)
		}
		if strings.Contains(ordered, "{c}_u as (") {
			woke++
		}
	}
	if woke != 7 { // consume, consumen, dyn_consume, take and the families
		t.Errorf("%d functions wake what waits", woke)
	}
}
