package rewrite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mbusproxy/rewrite/plan"
)

// FuzzRewrite looks for texts on which the rewriter panics, loses the client's text or gives
// something that does not parse, with the plan's prelude statements or without.
func FuzzRewrite(f *testing.F) {
	files, err := filepath.Glob("testdata/*.sql")
	if err != nil || len(files) == 0 {
		f.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range strings.Split(string(b), "\n\n") {
			_, sql := splitComments(c)
			sql, _, _ = strings.Cut(sql, "\n----")
			f.Add(sql)
		}
	}
	r := newRewriter(shortFragments{})
	f.Fuzz(func(t *testing.T, sql string) {
		if strings.ContainsRune(sql, 0) {
			return // ends a text on the wire
		}
		p := r.Rewrite(t.Context(), sql, utf8Session, testEnv)
		if p == nil {
			return
		}
		checkPlan(t, sql, p)
		for i := 1; i <= len(p.SQL())+1; i++ {
			r := &plan.Report{Code: "42601", Position: i}
			p.EditReport(r)
			if r.Position < 1 || r.Position > len(sql)+1 {
				t.Fatalf("position %d of %q maps to %d of %q", i, p.SQL(), r.Position, sql)
			}
		}
	})
}
