package lex

import (
	"strings"
)

// A skeleton is a text without its whole numbers and the contents of its plain string literals.
// Clients of the simple protocol send the same statement with other literals again and again; what
// the rewriter does depends on the skeleton only, and on the few numbers that a plan names
// (Plan.pins), so that is what plans are cached by.
//
// The literals are found by reading the text as the server's lexer does (scan.l): comments, quoted
// identifiers, dollar quotes and strings with a prefix (E, B, X, N, U&) are part of the skeleton.
// They are found in what the parser may see of the text (parseable), where no half of a character
// looks like a quote or a backslash.

// What stands for the contents of a string and for a number. Clients write neither, but for those that would
// be mistaken for others: see skeleton.
const (
	stringMark = "\x00"
	numberMark = "\x01"
)

// maxNumber is the length up to which a number is surely an integer, as int4 is for the parser.
const maxNumber = 9

// Literal is the contents of a string, quotes excluded, or a whole number.
type Literal struct {
	Span
	Number bool
}

// Skeleton returns text with its literals replaced, and where they are. escapes says that a backslash
// escapes in plain strings. It gives up, with no literals, on a text that it cannot read to the end, and on
// one that holds a mark, which it changes so that no other text gives the same.
func Skeleton(text string, enc Encoding, escapes bool) (string, []Literal) {
	if strings.Contains(text, stringMark) || strings.Contains(text, numberMark) {
		return stringMark + text, nil
	}
	var literals []Literal
	l := Lexer{Text: enc.Parseable(text), Escapes: escapes}
	prefix := -1 // where a string is no plain one: behind the N of N'…'
	for t := l.Next(); t.Kind != End; t = l.Next() {
		switch t.Kind {
		case Open:
			return text, nil
		case String:
			if t.Start == prefix {
				break
			}
			// One that goes on behind a line break is left as it is: it may have as many pieces as bytes.
			if QuoteEnd(l.Text, t.Start, escapes) == t.End {
				literals = append(literals, Literal{Span{t.Start + 1, t.End - 1}, false})
			}
		case Number:
			literals = appendNumbers(literals, l.Text, t.Start, t.End)
		case Word:
			if t.End == t.Start+1 && l.Text[t.Start]|0x20 == 'n' {
				prefix = t.End
			}
		}
	}
	if len(literals) == 0 {
		return text, nil
	}
	var b strings.Builder
	b.Grow(len(text))
	pos := 0
	for _, l := range literals {
		b.WriteString(text[pos:l.Start])
		if l.Number {
			b.WriteString(numberMark)
		} else {
			b.WriteString(stringMark)
		}
		pos = l.End
	}
	b.WriteString(text[pos:])
	return b.String(), literals
}

// appendNumbers adds the whole numbers in the token of a number: both of 1.5, none of 1e5.
func appendNumbers(literals []Literal, text string, start, end int) []Literal {
	for start < end {
		next := start
		for next < end && text[next] != '.' {
			next++
		}
		if next > start && next-start <= maxNumber && digits(text[start:next]) {
			literals = append(literals, Literal{Span{start, next}, true})
		}
		start = next + 1
	}
	return literals
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// PlainStrings returns text with letters for the contents of its strings in which a backslash escapes though they
// have no E: the parser takes backslashes for what they are.
func PlainStrings(text string) string {
	l := Lexer{Text: text, Escapes: true}
	var b []byte
	for t := l.Next(); t.Kind != End && t.Kind != Open; t = l.Next() {
		if t.Kind != String {
			continue
		}
		if b == nil {
			b = []byte(text)
		}
		for at := t.Start; at >= 0; {
			end := QuoteEnd(text[:t.End], at, true)
			for i := at + 1; i < end-1; i++ {
				b[i] = 'z'
			}
			at = Continuation(text[:t.End], end)
		}
	}
	if b == nil {
		return text
	}
	return string(b)
}

func InWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c >= 0x80
}
