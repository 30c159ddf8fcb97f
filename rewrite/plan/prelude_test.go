package plan

import (
	"testing"

	"mbusproxy/rewrite/lex"
)

func TestCountStatements(t *testing.T) {
	for text, want := range map[string]int{
		"":                                   0,
		" ;; -- a\n /* ; */":                 0,
		"select 1":                           1,
		"select ';';":                        1,
		"select 1; select 2;;":               2,
		"do $$ a; b $$; select E'\\';' -- ;": 2,
		"create rule r as on insert to t do also (select 1; select 2); select 3": 2,
	} {
		if got := countStatements(text, lex.UTF8, false); got != want {
			t.Errorf("%q has %d statements, want %d", text, got, want)
		}
	}
}
