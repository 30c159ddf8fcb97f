package lex

import (
	"iter"
	"strconv"
	"strings"
)

// Tags are what a client has written into a comment at the end of its text in the format of
// sqlcommenter: key='value' with commas between, keys and values encoded as in URLs.
// https://google.github.io/sqlcommenter/spec/
type Tags string

const (
	// maxTags bounds such a comment, in bytes. A longer one is a comment as any other.
	maxTags = 4 << 10
	// maxTagCount bounds its pairs.
	maxTagCount = 64
)

// CutTags cuts the comment with tags from the end of a text, and what blanks and semicolons stand
// around it. What it returns means the same to the server and has the same offsets. A text without
// such a comment it returns as it is, with "". escapes says that a backslash escapes in plain
// strings.
func CutTags(text string, enc Encoding, escapes bool) (body string, tags Tags) {
	end := len(text)
	for end > 0 && (classes[text[end-1]] == blank || text[end-1] == ';') {
		end--
	}
	if end < 4 || text[end-1] != '/' || text[end-2] != '*' { // nearly all
		return text, ""
	}
	from := max(0, end-maxTags)
	start := strings.LastIndex(text[from:end-2], "/*")
	if start < 0 {
		return text, ""
	}
	start += from
	tags = Tags(strings.TrimSpace(text[start+2 : end-2]))
	if !tags.wellFormed() {
		return text, ""
	}
	// A byte of the comment may be part of a character to the server.
	parseable := enc.Parseable(text)
	if parseable[start:end] != text[start:end] || !comments(parseable[:start], escapes) {
		return text, ""
	}
	for start > 0 && classes[parseable[start-1]] == blank {
		start--
	}
	return text[:start], tags
}

// comments reports whether what follows a text is outside of its strings, names and comments.
func comments(before string, escapes bool) bool {
	l := Lexer{Text: before, Escapes: escapes}
	behind := 0 // where the last token ends
	for t := l.Next(); t.Kind != End; t = l.Next() {
		if t.Kind == Open {
			return false
		}
		behind = t.End
	}
	return !strings.Contains(before[behind:], "--") // in such a comment the other would be none
}

// wellFormed reports whether the whole comment is of tags.
func (t Tags) wellFormed() bool {
	rest, n := string(t), 0
	for {
		_, _, behind, ok := cutTag(rest)
		if n++; !ok || n > maxTagCount {
			return false
		}
		if behind == "" {
			return true
		}
		if behind[0] != ',' {
			return false
		}
		rest = strings.TrimLeft(behind[1:], " ")
	}
}

// What of a pair a byte may stand in as it is.
const (
	inKey = 1 << iota
	inValue
)

var tagBytes = classifyTags() //nolint:gochecknoglobals // a table that nobody changes

func classifyTags() (table [256]byte) {
	for c := byte(' ' + 1); c < 0x7f; c++ {
		if classes[c]&(letter|digit) != 0 || strings.IndexByte("%.-~", c) >= 0 {
			table[c] |= inKey
		}
		if strings.IndexByte(`'\;*"`, c) < 0 {
			table[c] |= inValue
		}
	}
	return table
}

// cutTag cuts the first pair, as it was written.
func cutTag(text string) (key, value, rest string, ok bool) {
	i := 0
	for i < len(text) && tagBytes[text[i]]&inKey != 0 {
		i++
	}
	key, rest = text[:i], text[i:]
	rest, ok = strings.CutPrefix(rest, "='")
	if !ok || key == "" {
		return "", "", "", false
	}
	for i = 0; i < len(rest) && rest[i] != '\''; i++ {
		switch c := rest[i]; {
		case tagBytes[c]&inValue != 0:
		case c == '\\' && strings.HasPrefix(rest[i+1:], "'"): // sqlcommenter escapes quotes so
			i++
		default:
			return "", "", "", false
		}
	}
	if i == len(rest) {
		return "", "", "", false
	}
	return key, rest[:i], rest[i+1:], true
}

// All gives the keys and values of the pairs, decoded. A pair that cannot be decoded is as if it
// were not there.
func (t Tags) All() iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for rest := string(t); rest != ""; {
			name, written, behind, ok := cutTag(rest)
			if !ok {
				return
			}
			rest = strings.TrimLeft(strings.TrimPrefix(behind, ","), " ")
			key, ok := unescape(name)
			if !ok {
				continue
			}
			if value, ok := unescape(written); ok && !yield(key, value) {
				return
			}
		}
	}
}

// unescape decodes what was encoded as in URLs; false where it is not.
func unescape(text string) (decoded string, ok bool) {
	if strings.IndexByte(text, '%') < 0 && strings.IndexByte(text, '\\') < 0 {
		return text, true
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\': // of a quote
		case '%':
			code, err := strconv.ParseUint(text[min(i+1, len(text)):min(i+3, len(text))], 16, 8)
			if err != nil || i+2 >= len(text) {
				return "", false
			}
			b.WriteByte(byte(code))
			i += 2
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}
