package detect

import (
	"strings"

	"mbusproxy/rewrite/lex"
	"mbusproxy/sqlfuncs"
)

// Holding says what a text holds as tokens. What stands in comments, strings and the quotes of
// other names does not count.
type Holding struct {
	Calls int  // how many tokens may begin calls of ours
	Table bool // whether the schema is named without a call, and so perhaps with a table
}

// Holds reads the tokens of a text, which is as the parser may see it. escapes says that a
// backslash escapes in plain strings. A text that ends within a token holds nothing, since it has a
// syntax error.
func Holds(text string, escapes bool, unqualified *Unqualified) (h Holding) {
	l := lex.Lexer{Text: text, Escapes: escapes}
	var before lex.Token
	for {
		t := l.Next()
		switch t.Kind {
		case lex.Open:
			return Holding{}
		case lex.End:
			return h
		case lex.Word, lex.Name, lex.EscapeName:
			ahead := l
			ours := namesSchema(text, t, skipEscape(&ahead, t))
			switch {
			case ours && follows(&ahead, '.'):
				name := ahead.Next()
				if !isName(name.Kind) {
					break
				}
				skipEscape(&ahead, name)
				if follows(&ahead, '(') && !beforeTable(text, before) {
					h.Calls++
				} else {
					h.Table = true
				}
			case ours:
			case unqualified != nil && (before.Kind != lex.Symbol || text[before.Start] != '.'):
				if follows(&ahead, '(') && unqualified.mayName(text[t.Start:t.End], t.Kind) {
					h.Calls++
				}
			}
		}
		before = t
	}
}

func isName(k lex.Kind) bool { return k == lex.Word || k == lex.Name || k == lex.EscapeName }

// follows reads the next token and reports whether it is that character.
func follows(l *lex.Lexer, c byte) bool {
	t := l.Next()
	return t.Kind == lex.Symbol && l.Text[t.Start] == c
}

// skipEscape reads UESCAPE '!' behind a name, and reports whether it was there.
func skipEscape(l *lex.Lexer, name lex.Token) bool {
	if name.Kind != lex.EscapeName {
		return false
	}
	ahead := *l
	t := ahead.Next()
	if t.Kind != lex.Word || !strings.EqualFold(l.Text[t.Start:t.End], "uescape") {
		return false
	}
	ahead.Next()
	*l = ahead
	return true
}

// namesSchema reports whether a name may be that of the schema; escape says that UESCAPE follows.
func namesSchema(text string, t lex.Token, escape bool) bool {
	s := text[t.Start:t.End]
	switch t.Kind {
	case lex.Word:
		return strings.EqualFold(s, sqlfuncs.Schema)
	case lex.Name:
		return s == `"`+sqlfuncs.Schema+`"`
	}
	return escape || strings.IndexByte(s, '\\') >= 0 || s[2:] == `"`+sqlfuncs.Schema+`"`
}

// beforeTable reports whether the token is a keyword behind which a name is that of a table, even before a parenthesis.
func beforeTable(text string, t lex.Token) bool {
	if t.Kind != lex.Word {
		return false
	}
	word := text[t.Start:t.End]
	return strings.EqualFold(word, "into") || strings.EqualFold(word, "copy")
}

// mayName reports whether a name may be one of u. s is the name as it is written.
func (u *Unqualified) mayName(s string, k lex.Kind) bool {
	switch k {
	case lex.Word:
		s = sqlfuncs.Fold(s)
	case lex.Name:
		s = s[1 : len(s)-1]
	default:
		return true
	}
	_, ok := u.Lookup(s)
	return ok
}
