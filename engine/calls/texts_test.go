package calls

import (
	"slices"
	"strings"
	"testing"

	"mbusproxy/sqlfuncs"
)

var names = sqlfuncs.Names{Call: "mbus4_call", Called: `"called"`, Number: "7", Mark: "7 " + sqlfuncs.SecretPlace}

func hasParam(f *sqlfuncs.Func, name string) bool {
	return slices.ContainsFunc(f.Params, func(p sqlfuncs.Param) bool { return p.Name == name })
}

// Every function of the catalogue has its SQL in each use, with places for its own parameters only.
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
			got := texts.Fragment(f, use, names)
			if (got.CTEs == "") == (got.Expr == "") || (got.CTEs != "") != (f.Effect == sqlfuncs.Writes) {
				t.Errorf("%s: %+v gives %+v", f.Name, use, got)
			}
			for text, param, found := got.CTEs+got.Expr, "", true; found; {
				if _, param, text, found = sqlfuncs.CutPlace(text); param != "" && !hasParam(f, param) {
					t.Errorf("%s has no parameter %s", f.Name, param)
				}
			}
			if got.CTEs != "" && !strings.Contains(got.CTEs, "mbus4_call as (") {
				t.Errorf("%s: no result in %s", f.Name, got.CTEs)
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
		for _, p := range f.Arguments(nil) {
			given[p.Name] = true
		}
		for _, use := range []sqlfuncs.Use{{InPlace: true}, {InPlace: true, Given: given}, {InPlace: true, Given: given, Ordered: true}} {
			if f.Prelude {
				continue
			}
			expr := texts.Fragment(f, use, names).Expr
			for name := range use.Given {
				if strings.Count(expr, sqlfuncs.ArgPlace(name)) != 1 {
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
		plain, ordered := texts.Fragment(f, sqlfuncs.Use{}, names).CTEs, texts.Fragment(f, sqlfuncs.Use{Ordered: true}, names).CTEs
		if strings.Contains(plain, "mbus4.wake") {
			t.Errorf("%s wakes where nothing waits", f.Name)
		}
		if strings.Contains(ordered, "mbus4_call_woken as (") || strings.Contains(ordered, "mbus4.wake(") {
			woke++
		}
	}
	if woke != 11 { // consume and its other names, consumen, consume_json, dyn_consume, take, ack and the families
		t.Errorf("%d functions wake what waits", woke)
	}
}

// However calls use their functions, the texts that are kept take little memory.
func TestTextsKept(t *testing.T) {
	t.Parallel()
	texts := New()
	for _, f := range sqlfuncs.All() {
		given := map[string]bool{}
		for _, p := range f.Arguments(nil) {
			given[p.Name] = true
		}
		for n := range 1 << 6 {
			use := sqlfuncs.Use{Rows: n&1 > 0, Ordered: n&2 > 0, Numbered: n&9 == 9}
			if n&4 > 0 {
				use.Given = given
			}
			if n&16 > 0 {
				use.Fixed = given
			}
			if n&32 > 0 && f.Condition != "" {
				use.Condition = "true"
			}
			texts.Fragment(f, use, names)
			texts.Shape(f, use)
		}
	}
	kept, size := 0, 0
	texts.filled.Range(func(_, p any) bool {
		kept++
		for _, s := range p.(pieces) {
			size += len(s) + 16
		}
		return true
	})
	t.Logf("%d texts of %d bytes", kept, size)
	if size > 8<<20 {
		t.Errorf("%d texts of %d bytes are kept", kept, size)
	}
}
