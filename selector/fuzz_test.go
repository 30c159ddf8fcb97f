package selector

import (
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// FuzzCompile: whatever the text, there is a refusal or a Condition that is one expression within its bound.
func FuzzCompile(f *testing.F) {
	for _, file := range []string{"testdata/conditions.sql", "testdata/refused.sql"} {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range strings.Split(string(b), "\n\n") {
			text, _, _ := strings.Cut(c, "\n----")
			f.Add(text)
		}
	}
	g := &generator{rand.New(rand.NewPCG(7, 7))}
	for range 200 {
		f.Add(g.boolean(3))
	}
	f.Fuzz(checkOutcome)
}

// Texts of the generator with words left out, doubled and swapped, which a fuzzer of bytes seldom finds.
func TestMixedWords(t *testing.T) {
	t.Parallel()
	g := &generator{rand.New(rand.NewPCG(11, 11))}
	for range 5000 {
		checkOutcome(t, g.mixed())
	}
}

func checkOutcome(t *testing.T, text string) {
	s, err := compile(text, testEnv)
	var refused *Error
	if errors.As(err, &refused) {
		if refused.Offset < 0 || refused.Offset > len(text) || len(refused.Code) != 5 || refused.Message == "" {
			t.Errorf("%q: %#v", text, refused)
		}
		return
	}
	if err != nil || len(s.Condition) > maxCondition {
		t.Fatalf("%q: %v, a condition of %d bytes", text, err, len(s.Condition))
	}
	if _, perr := parseExpressionOf(s.Condition); perr != nil {
		t.Errorf("%q: %s: %v", text, s.Condition, perr)
	}
}

func parseExpressionOf(condition string) (*pg_query.ParseResult, error) {
	tree, err := pg_query.Parse("select " + condition)
	if err == nil && len(tree.Stmts) != 1 {
		err = errors.New("not one statement")
	}
	return tree, err
}
