package detect

import (
	"strings"

	"mbusproxy/rewrite/lex"
	"mbusproxy/sqlfuncs"
)

// Holding says what a text holds as tokens; what stands in comments, strings and quoted names of something
// else does not count.
type Holding struct {
	Calls int  // what may be calls of ours
	Table bool // a name of the schema that is no call, and so may be a table
}

// Holds reads the tokens of a text, which is as the parser may see it. It may find a call where there is none,
// but never overlooks one. A text that ends within a token holds nothing: it has a syntax error.
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

// follows reads the next token and reports whether it is the character.
func follows(l *lex.Lexer, c byte) bool {
	t := l.Next()
	return t.Kind == lex.Symbol && l.Text[t.Start] == c
}

// skipEscape reads UESCAPE '!' behind a name, if it is there, and reports whether it was.
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

// beforeTable reports whether what follows the token is a table, though a parenthesis may stand behind it.
func beforeTable(text string, t lex.Token) bool {
	if t.Kind != lex.Word {
		return false
	}
	word := text[t.Start:t.End]
	return strings.EqualFold(word, "into") || strings.EqualFold(word, "copy")
}

// mayName reports whether a name as it is written may be one of u.
func (u *Unqualified) mayName(s string, k lex.Kind) bool {
	switch k {
	case lex.Word:
		s = strings.ToLower(s)
	case lex.Name:
		s = s[1 : len(s)-1]
	default:
		return true
	}
	_, ok := u.Lookup(s)
	return ok
}
