package lex

import (
	"strings"
)

// Kind is a kind of token.
type Kind uint8

// Kinds of tokens.
const (
	End        Kind = iota // of the text
	Open                   // a string, quoted name or comment that does not end
	Word                   // a name or keyword without quotes
	Name                   // "…"
	EscapeName             // U&"…"
	String                 // '…'
	Prefixed               // E'…', B'…', X'…', U&'…', $$…$$; of N'…' the N is a Word
	Number                 // also one with junk behind it, which the server refuses
	Param                  // $1
	Operator               // what is no Symbol, such as || or ::
	Symbol                 // one character that stands for itself, or that no token begins with
)

// Token is a token of a text; offsets are bytes. A string that goes on behind a line break is one token.
type Token struct {
	Kind       Kind
	Start, End int
}

// Lexer reads a text from its start. The zero value with a Text is ready.
type Lexer struct {
	Text string
	// Escapes says that a backslash escapes in plain strings, too: standard_conforming_strings is off.
	Escapes bool
	// Pos is where the next token is looked for.
	Pos int
	// signs is a range of the text where each character is a token, + or -: the end of what looks
	// like one operator. It is read once, for it may be long.
	signs struct{ from, to int }
}

// Classes of bytes.
const (
	blank  uint8 = 1 << iota
	letter       // begins a name
	digit
	dollar
	operator // op_chars of scan.l
)

// wordPart are the classes of what a name goes on with.
const wordPart = letter | digit | dollar

var classes = classify() //nolint:gochecknoglobals // a table that nobody changes

// InWord reports whether a byte may stand in a name without quotes, or in a keyword or number.
func InWord(c byte) bool { return classes[c]&wordPart != 0 }

// InOperator reports whether a byte may stand in an operator.
func InOperator(c byte) bool { return classes[c] == operator }

func classify() (t [256]uint8) {
	for c := range t {
		switch {
		case strings.IndexByte(" \t\n\r\f\v", byte(c)) >= 0:
			t[c] = blank
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c >= 0x80:
			t[c] = letter
		case c >= '0' && c <= '9':
			t[c] = digit
		case c == '$':
			t[c] = dollar
		case strings.IndexByte("~!@#^&|`?+-*/%<>=", byte(c)) >= 0:
			t[c] = operator
		}
	}
	return t
}

// Next returns the next token, without blanks and comments. Behind Open and End it returns the same again.
func (l *Lexer) Next() Token {
	i, ok := skipBlanks(l.Text, l.Pos)
	if l.Pos = i; !ok {
		return Token{Open, i, len(l.Text)}
	}
	if i == len(l.Text) {
		return Token{End, i, i}
	}
	kind, end := l.read(i)
	if end < 0 {
		return Token{Open, i, len(l.Text)}
	}
	l.Pos = end
	return Token{kind, i, end}
}

// read returns the token at i, which is no blank; its end is -1 where it has none.
func (l *Lexer) read(i int) (Kind, int) {
	s := l.Text
	c := s[i]
	switch class := classes[c]; {
	case class == letter:
		return l.word(i)
	case class == digit, c == '.' && i+1 < len(s) && classes[s[i+1]] == digit:
		return Number, number(s, i)
	case c == '\'':
		return String, stringEnd(s, i, l.Escapes)
	case c == '"':
		return Name, nameEnd(s, i)
	case c == '$':
		return dollarToken(s, i)
	case class == operator:
		return l.operator(i)
	case strings.HasPrefix(s[i:], "::"), strings.HasPrefix(s[i:], ":="), strings.HasPrefix(s[i:], ".."):
		return Operator, i + 2
	}
	return Symbol, i + 1
}

// word reads a name, or a string or quoted name with a prefix.
func (l *Lexer) word(i int) (Kind, int) {
	s := l.Text
	if i+1 < len(s) {
		switch next := s[i+1]; {
		case next == '\'':
			switch s[i] {
			case 'e', 'E':
				return Prefixed, stringEnd(s, i+1, true)
			case 'b', 'B', 'x', 'X':
				return Prefixed, bitsEnd(s, i+1)
			}
		case next == '&' && (s[i] == 'u' || s[i] == 'U') && i+2 < len(s):
			switch s[i+2] {
			case '\'':
				return Prefixed, stringEnd(s, i+2, false)
			case '"':
				return EscapeName, nameEnd(s, i+2)
			}
		}
	}
	return Word, wordEnd(s, i)
}

func wordEnd(s string, i int) int {
	for i < len(s) && classes[s[i]]&wordPart != 0 {
		i++
	}
	return i
}

// skipBlanks returns where the first token behind i begins; not ok: a comment does not end.
func skipBlanks(s string, i int) (at int, ok bool) {
	for i < len(s) {
		switch c := s[i]; {
		case classes[c] == blank:
			i++
		case c == '-' && strings.HasPrefix(s[i:], "--"):
			i = lineEnd(s, i)
		case c == '/' && strings.HasPrefix(s[i:], "/*"):
			end := commentEnd(s, i)
			if end < 0 {
				return i, false
			}
			i = end
		default:
			return i, true
		}
	}
	return i, true
}

// lineEnd returns where the line of i ends. It looks at ever more at a time, for one byte of which to look is quick, but what lies behind the line
// must not be looked at for each line.
func lineEnd(s string, i int) int {
	for size := 64; ; size *= 2 {
		line, ends := s[i:min(i+size, len(s))], i+size >= len(s)
		if j := strings.IndexByte(line, '\n'); j >= 0 {
			line, ends = line[:j], true
		}
		if j := strings.IndexByte(line, '\r'); j >= 0 {
			return i + j
		}
		if ends {
			return i + len(line)
		}
	}
}

// commentEnd returns where the comment that opens at i ends, -1 where it does not; comments nest.
func commentEnd(s string, i int) int {
	depth := 0
	for i+1 < len(s) {
		switch {
		case s[i] == '/' && s[i+1] == '*':
			depth++
			i += 2
		case s[i] == '*' && s[i+1] == '/':
			depth--
			i += 2
			if depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return -1
}

// nameEnd returns where the quoted name that opens at i ends.
func nameEnd(s string, i int) int {
	for {
		j := strings.IndexByte(s[i+1:], '"')
		if j < 0 {
			return -1
		}
		i += j + 2
		if i == len(s) || s[i] != '"' {
			return i
		}
	}
}

// stringEnd returns where the string that opens at i ends. It goes on with the next quote where nothing but
// blanks and comments of one line with a line break among them stand between (quotecontinue).
func stringEnd(s string, i int, escapes bool) int {
	for {
		end := QuoteEnd(s, i, escapes)
		if end < 0 {
			return -1
		}
		if i = Continuation(s, end); i < 0 {
			return end
		}
	}
}

// bitsEnd returns where the string of bits or hexadecimal digits that opens at i ends. Two quotes in it are its end
// and the start of another string.
func bitsEnd(s string, i int) int {
	for {
		j := strings.IndexByte(s[i+1:], '\'')
		if j < 0 {
			return -1
		}
		end := i + j + 2
		if i = Continuation(s, end); i < 0 {
			return end
		}
	}
}

// QuoteEnd returns where the quoted text that opens at i ends; -1 where it does not. escapes says that a
// backslash escapes.
func QuoteEnd(s string, i int, escapes bool) int {
	for i++; ; i++ {
		if !escapes {
			j := strings.IndexByte(s[i:], '\'')
			if j < 0 {
				return -1
			}
			i += j
		}
		switch {
		case i >= len(s):
			return -1
		case s[i] == '\\' && escapes:
			i++
		case s[i] == '\'':
			if i+1 == len(s) || s[i+1] != '\'' {
				return i + 1
			}
			i++
		}
	}
}

// Continuation returns where the string whose part ends at i goes on, or -1.
func Continuation(s string, i int) int {
	if i == len(s) || s[i] != '-' && classes[s[i]] != blank {
		return -1
	}
	broken := false
	for i < len(s) {
		switch c := s[i]; {
		case c == '\n' || c == '\r':
			broken = true
			i++
		case classes[c] == blank:
			i++
		case c == '-' && strings.HasPrefix(s[i:], "--"):
			i = lineEnd(s, i)
		case c == '\'' && broken:
			return i
		default:
			return -1
		}
	}
	return -1
}

// dollarToken reads a string in dollar quotes, a parameter, or a $ that is neither.
func dollarToken(s string, i int) (Kind, int) {
	j := i + 1
	if j < len(s) && classes[s[j]] == digit {
		for j < len(s) && classes[s[j]] == digit {
			j++
		}
		return Param, j // what stands behind it begins another token, or the server refuses the text
	}
	for j < len(s) && classes[s[j]]&(letter|digit) != 0 {
		j++
	}
	if j == len(s) || s[j] != '$' {
		return Symbol, i + 1
	}
	tag := s[i : j+1]
	end := strings.Index(s[j+1:], tag)
	if end < 0 {
		return Prefixed, -1
	}
	return Prefixed, j + 1 + end + len(tag)
}

// number returns where the number at i ends, and what no number can have behind it (junk).
func number(s string, i int) int {
	start := i
	i = digitsEnd(s, i)
	if i == start+1 && s[start] == '0' && i < len(s) && strings.IndexByte("xXoObB", s[i]) >= 0 {
		for i++; i < len(s) && classes[s[i]]&(letter|digit) != 0; {
			i++
		}
		return i
	}
	if i < len(s) && s[i] == '.' && !strings.HasPrefix(s[i:], "..") {
		i = digitsEnd(s, i+1)
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if j < len(s) && classes[s[j]] == digit {
			i = digitsEnd(s, j)
		}
	}
	return junkEnd(s, i)
}

// junkEnd returns where the name ends that stands directly behind a number, if there is one.
func junkEnd(s string, i int) int {
	if i < len(s) && classes[s[i]] == letter {
		return wordEnd(s, i)
	}
	return i
}

func digitsEnd(s string, i int) int {
	for i < len(s) && (classes[s[i]] == digit || s[i] == '_' && i > 0 && classes[s[i-1]] == digit) {
		i++
	}
	return i
}

// operator reads what begins with one of op_chars: up to a comment, and without the + and - at its end
// unless it holds a character that no operator of the standard has.
func (l *Lexer) operator(i int) (Kind, int) {
	if l.signs.from <= i && i < l.signs.to {
		return Symbol, i + 1
	}
	s := l.Text
	end := i
	special := false
	for end < len(s) && classes[s[end]] == operator {
		if end > i && end+1 < len(s) && (s[end] == '-' && s[end+1] == '-' || s[end] == '/' && s[end+1] == '*') {
			break
		}
		special = special || strings.IndexByte("~!@#^&|`?%", s[end]) >= 0
		end++
	}
	if run := end; !special {
		for end > i+1 && (s[end-1] == '+' || s[end-1] == '-') {
			end--
		}
		l.signs.from, l.signs.to = end, run
	}
	if end == i+1 && strings.IndexByte("+-*/%^<>=", s[i]) >= 0 {
		return Symbol, end
	}
	return Operator, end
}
