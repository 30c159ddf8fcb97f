package lex

import (
	"slices"
	"strings"
	"testing"
)

func TestLexer(t *testing.T) {
	for _, c := range []struct {
		text    string
		escapes bool
		want    []string
	}{
		{`select a.b, "c""d" , U&"e"`, false, []string{"select", "a", ".", "b", ",", `"c""d"`, ",", `U&"e"`}},
		{"a--b\n/*/* */'*/c", false, []string{"a", "c"}},
		{`'a''b' 'c\' E'd\'e' N'f' x'0'`, false, []string{`'a''b'`, `'c\'`, `E'd\'e'`, "N", "'f'", "x'0'"}},
		{`'c\'' E'd'`, true, []string{`'c\''`, "E'd'"}},
		{"B'''' x'1''2'", false, []string{"B''", "''", "x'1'", "'2'"}},
		{"E'a' --'\n '\\'' 'b' 'c'", false, []string{"E'a' --'\n '\\''", "'b'", "'c'"}},
		{"$$a'$$ $x$ $y$ $x$ $1$$'$$ $1$2 a$b$c", false, []string{"$$a'$$", "$x$ $y$ $x$", "$1", "$$'$$", "$1", "$2", "a$b$c"}},
		{"1.5$1 1..2 .5 1e-5 1.e5 0x1F$1 1_0", false, []string{"1.5", "$1", "1", "..", "2", ".5", "1e-5", "1.e5", "0x1F", "$1", "1_0"}},
		{"+-+-1 <+-+ @+-+ ++/*+*/+--+\n-+", false, []string{"+", "-", "+", "-", "1", "<", "+", "-", "+", "@+-+", "+", "+", "+", "-", "+"}},
		{"a<=-b +- @- a*/**/b ::c :=", false, []string{"a", "<=", "-", "b", "+", "-", "@-", "a", "*", "b", "::", "c", ":="}},
	} {
		l := Lexer{Text: c.text, Escapes: c.escapes}
		var got []string
		for tok := l.Next(); tok.Kind != End && tok.Kind != Open; tok = l.Next() {
			got = append(got, c.text[tok.Start:tok.End])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q", c.text, got)
		}
	}
	for _, open := range []string{"'a", "'a''", `"a`, "$$a", "/* /* */", "E'\\'", "U&'a", "'a'\n'b"} {
		l := Lexer{Text: "x " + open}
		l.Next()
		if got := l.Next(); got.Kind != Open || got.Start != 2 {
			t.Errorf("%s: %+v", open, got)
		}
	}
}

// Signs that follow each other are read once, not once for each: this would take hours.
func TestLexerSigns(t *testing.T) {
	l := Lexer{Text: strings.Repeat("+-", 2<<20)}
	n := 0
	for l.Next().Kind == Symbol {
		n++
	}
	if n != len(l.Text) {
		t.Errorf("%d tokens", n)
	}
}

// A line ends where the first of either character is, and to find that costs what the line is long.
func TestLineEnd(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 1000} {
		for _, end := range []string{"", "\n", "\r", "\r\n", "\n\r", "\rx\n", "\nx\r"} {
			if got := lineEnd("--"+strings.Repeat("x", n)+end, 2); got != 2+n {
				t.Errorf("%d characters before %q: %d", n, end, got)
			}
		}
	}
}
