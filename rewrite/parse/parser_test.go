package parse

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	p := New()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name, text, code string
	}{
		{"plain", "select 1", ""},
		{"chain", "select 1" + strings.Repeat("+1", MaxDepth/2-10), ""},
		{"more levels than protobuf-go allows", "select " + strings.Repeat("(select ", MaxDepth/2-10) + "1" + strings.Repeat(")", MaxDepth/2-10), ""},
		{"too deep", "select 1" + strings.Repeat("+1", MaxDepth/2), codeTooComplex},
		{"brackets", "select " + strings.Repeat("(", 1<<20), codeTooComplex},
		{"list", "select 1" + strings.Repeat(",1", MaxTokens/2-10), ""},
		{"too long", "select 1" + strings.Repeat(",1", MaxTokens/2), codeTooLong},
		{"right recursion beyond the parser's own stack", "select " + strings.Repeat("(a and (b and ", 1990) + "c" + strings.Repeat("))", 1990), codeTooComplex},
		// What the scanner would read again and again, for hours.
		{"comments without blanks", "select 1 " + strings.Repeat("/**/", 2<<20), codeTooComplex},
		{"comments in comments", "select 1 " + strings.Repeat("/*", 1<<20) + strings.Repeat("*/", 1<<20), codeTooComplex},
		{"comments of operators", "select 1 " + strings.Repeat("/*+-*/", 1<<20), codeTooComplex},
		{"signs before a comment", "select " + strings.Repeat("+", 3900) + "/*" + strings.Repeat("*", 7<<20) + "/ 1", codeTooComplex},
		{"signs", "select " + strings.Repeat("+", 3900) + "1", codeTooComplex},
		{"comments with blanks", "select 1 " + strings.Repeat("/**/ ", 1<<20), ""},
		{"rulers", "select 1\n" + strings.Repeat("--"+strings.Repeat("-", 100)+"\n/*"+strings.Repeat("-=", 50)+"*/\n", 10000), ""},
	} {
		tree, err := p.Parse(t.Context(), c.text)
		var limit *LimitError
		errors.As(err, &limit)
		switch {
		case c.code == "" && (err != nil || len(tree.GetStmts()) != 1):
			t.Errorf("%s: %v", c.name, err)
		case c.code != "" && (limit == nil || limit.Code != c.code || limit.Hint == ""):
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := p.Parse(t.Context(), "select +"); !errors.As(err, new(*SyntaxError)) {
		t.Errorf("got %v", err)
	}
	if _, err := p.Parse(ended, "select 1"); !errors.Is(err, ErrEnded) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
