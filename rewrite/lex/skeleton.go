package lex

import (
	"math"
	"strconv"
	"strings"
)

// A skeleton is a text without its whole numbers and the contents of its plain string literals.
// Clients of the simple protocol send the same statement with other literals again and again. How
// it is rewritten depends only on the skeleton, and on the few literals to which a plan is pinned,
// so plans are cached by skeletons.
//
// Comments, quoted names, dollar quotes and strings with a prefix (E, B, X, N, U&) are part of the skeleton.

// What stands in a skeleton for the contents of a string, for a number that is an integer to the
// server, and for one that is a bigint.
const (
	stringMark = "\x00"
	numberMark = "\x01"
	bigMark    = "\x02"
)

// maxNumber is the length up to which a whole number is a bigint at most, whatever its digits.
const maxNumber = 18

// MaxSkeleton is the length of the longest skeleton, in bytes, and so a bound for the number of literals.
const MaxSkeleton = 16 << 10

// Literal is a whole number, or the contents of a string without its quotes.
type Literal struct {
	Span
	Number bool
	Big    bool // a number that is no integer but a bigint
}

// Skeleton returns the skeleton of a text and the literals that are not in it. escapes says that a
// backslash escapes in plain strings. A text that ends within a token is its own skeleton, and so is one of which too much
// is left without its literals. So is one that holds a mark, but for a mark in front, with which it is the skeleton of no
// other text.
func Skeleton(text string, enc Encoding, escapes bool) (string, []Literal) {
	if strings.ContainsAny(text, stringMark+numberMark+bigMark) {
		return stringMark + text, nil
	}
	var literals []Literal
	l := Lexer{Text: enc.Parseable(text), Escapes: escapes}
	inLiterals := 0 // bytes that are not in the skeleton
	prefix := -1    // where a string would have a prefix: behind the N of N'…'
	for t := l.Next(); t.Kind != End; t = l.Next() {
		before := len(literals)
		switch t.Kind {
		case Open:
			return text, nil
		case String:
			if t.Start == prefix {
				break
			}
			// A string that goes on behind a line break stays: it may have as many pieces as bytes.
			if QuoteEnd(l.Text, t.Start, escapes) == t.End {
				literals = append(literals, Literal{Span: Span{t.Start + 1, t.End - 1}})
			}
		case Number:
			literals = appendNumbers(literals, l.Text, t.Start, t.End)
		case Word:
			if t.End == t.Start+1 && l.Text[t.Start]|0x20 == 'n' {
				prefix = t.End
			}
		}
		for _, literal := range literals[before:] {
			inLiterals += literal.End - literal.Start - 1
		}
		if t.End-inLiterals > MaxSkeleton {
			return text, nil
		}
	}
	if len(literals) == 0 {
		return text, nil
	}
	var b strings.Builder
	b.Grow(len(text) - inLiterals) // no more: it may be kept for long
	pos := 0
	for _, l := range literals {
		b.WriteString(text[pos:l.Start])
		switch {
		case l.Big:
			b.WriteString(bigMark)
		case l.Number:
			b.WriteString(numberMark)
		default:
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
			n, _ := strconv.ParseInt(text[start:next], 10, 64)
			literals = append(literals, Literal{Span: Span{start, next}, Number: true, Big: n > math.MaxInt32})
		}
		start = next + 1
	}
	return literals
}

// digits reports whether s is digits only.
func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// PlainStrings returns a text in which backslashes escape in plain strings as the parser may see
// it, to which they do not escape: with letters for what is in plain strings.
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
