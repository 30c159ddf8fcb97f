package rewrite

import (
	"strings"
	"testing"
	"time"
)

// Rewriting takes time in proportion to the calls, wherever they stand: ten times as many take nowhere near a hundred
// times as long.
func TestManyCallsAreLinear(t *testing.T) {
	const one = "mbus4.post('q', 'a=>1')"
	list := func(n int, item, between string) string { return strings.Repeat(item+between, n-1) + item }
	for name, form := range map[string]func(n int) string{
		"values":      func(n int) string { return "values " + list(n, "("+one+")", ", ") },
		"target list": func(n int) string { return "select " + list(n, one, ", ") },
		"union all":   func(n int) string { return list(n, "select "+one, " union all ") },
		"functions":   func(n int) string { return "values " + list(n, "(case when true then "+one+" end)", ", ") },
		"over rows":   func(n int) string { return "select " + list(n, "mbus4.post('q', x)", ", ") + " from t" },
		"from":        func(n int) string { return "select 1 from " + list(n, "mbus4.consume('q')", ", ") },
		"nested":      func(n int) string { return "values " + list(n/2, "(mbus4.post('q', mbus4.post('r', '')::text))", ", ") },
		"statements":  func(n int) string { return list(n, "select "+one, "; ") },
		"reads":       func(n int) string { return "select " + list(n, "mbus4.is_msg_exists('x')", ", ") },
	} {
		timed := func(n int) time.Duration {
			text, best := form(n), time.Hour
			for range 3 {
				r := newRewriter(shortFragments{})
				began := time.Now()
				p := r.Rewrite(t.Context(), text, utf8Session, testEnv)
				best = min(best, time.Since(began))
				if p == nil || len(p.Refused()) > 0 {
					t.Fatalf("%s: not served: %+v", name, p.Refused())
				}
				if got := callsOf(p); got != n {
					t.Fatalf("%s: %d calls of %d", name, got, n)
				}
			}
			return best
		}
		few, many := timed(60), timed(360)
		t.Logf("%s: %v, %v", name, few, many)
		if many > 20*few { // 6 times as many; 36 times as long if it were quadratic
			t.Errorf("%s: 60 calls take %v, 360 take %v", name, few, many)
		}
	}
}
