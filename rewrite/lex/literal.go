package lex

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// DecodeLiteral returns what a literal says: a number, or a string in any notation, which may go on
// over several lines. The result is in the client's encoding. It is false if the literal is wrong,
// or if its escapes make characters whose bytes in that encoding are not known.
func DecodeLiteral(text string, enc Encoding, escapes bool) (string, bool) {
	lexed := enc.Parseable(text) // no half of a character looks like a quote or a backslash
	if value, plain := plainString(text, lexed, escapes); plain {
		return value, enc != UTF8 || utf8.ValidString(value)
	}
	open := strings.IndexAny(lexed, "'$")
	if open < 0 {
		return text, true // a number
	}
	if lexed[open] == '$' {
		tag := strings.IndexByte(lexed[open+1:], '$') + 2
		return text[tag : len(text)-tag], true
	}
	d := decoder{enc: enc, quote: '\'', escape: escapes}
	switch strings.ToLower(lexed[:open]) {
	case "":
	case "e":
		d.escape = true
	case "u&":
		if escapes {
			return "", false // the server refuses it
		}
		d.unicode = '\\'
	default:
		return "", false
	}
	behind := open
	for at := open; at >= 0; at = Continuation(lexed, behind) {
		if behind = QuoteEnd(lexed, at, d.escape); behind < 0 {
			return "", false
		}
	}
	if behind < len(lexed) {
		if d.unicode == 0 {
			return "", false
		}
		d.unicode = text[len(text)-2] // UESCAPE '!'
		if d.unicode >= utf8.RuneSelf {
			return "", false
		}
	}
	for at := open; at >= 0; {
		end := QuoteEnd(lexed, at, d.escape)
		if !d.read(text[at+1:end-1], lexed[at+1:end-1]) {
			return "", false
		}
		at = Continuation(lexed, end)
	}
	if d.pending != 0 || (enc == UTF8 && !utf8.Valid(d.out.Bytes())) {
		return "", false
	}
	return d.out.String(), true
}

// plainString returns what stands between the quotes of a string in which nothing is escaped,
// nearly every one; false for all else.
func plainString(text, lexed string, escapes bool) (value string, ok bool) {
	last := len(lexed) - 1
	if last < 1 || lexed[0] != '\'' || strings.IndexByte(lexed[1:], '\'') != last-1 || escapes && strings.IndexByte(lexed, '\\') >= 0 {
		return "", false
	}
	return text[1:last], true
}

// DecodeName returns the name that U&"…" says, where text stands between its quotes and escape is the character that
// escapes, as UESCAPE has it. It is false where DecodeLiteral would be.
func DecodeName(text string, enc Encoding, escape byte) (string, bool) {
	d := decoder{enc: enc, quote: '"', unicode: escape}
	if !d.read(text, enc.Parseable(text)) || d.pending != 0 {
		return "", false
	}
	return d.out.String(), true
}

// decoder collects the contents of a string or of a quoted name.
type decoder struct {
	enc     Encoding
	quote   byte // doubled, it stands for itself
	escape  bool // a backslash escapes
	unicode byte // what escapes in U&'…', or 0
	out     bytes.Buffer
	pending rune // the first half of a pair of UTF-16, or 0; -1 after half a pair
}

// read adds what stands between two quotes. lexed is text as the parser may see it.
func (d *decoder) read(text, lexed string) bool {
	for i := 0; i < len(text); {
		switch c := lexed[i]; {
		case c == d.quote:
			i += 2 // doubled
			d.raw(d.quote)
		case c == '\\' && d.escape:
			n := d.escaped(lexed[i+1:])
			if n < 0 {
				return false
			}
			if i += 1 + n; n == 0 { // a character that stands for itself
				d.raw(text[i])
				i++
			}
		case d.unicode != 0 && c == d.unicode:
			n := d.named(lexed[i+1:])
			if n < 0 {
				return false
			}
			i += 1 + n
		default:
			d.raw(text[i])
			i++
		}
		if d.pending < 0 {
			return false
		}
	}
	return true
}

// raw adds a byte as it is.
func (d *decoder) raw(c byte) {
	if d.pending != 0 {
		d.pending = -1 // half a pair
		return
	}
	d.out.WriteByte(c)
}

// escaped reads what follows a backslash in E'…'. It returns its length, 0 for a character that
// stands for itself, or -1 for what is wrong.
func (d *decoder) escaped(s string) int {
	if s == "" {
		return -1
	}
	switch c := s[0]; {
	case strings.IndexByte("bfnrtv", c) >= 0:
		d.raw("\b\f\n\r\t\v"[strings.IndexByte("bfnrtv", c)])
		return 1
	case c >= '0' && c <= '7':
		n := count(s[:min(3, len(s))], 8)
		return d.byteOf(s[:n], 8, n)
	case c == 'x' && count(s[1:min(3, len(s))], 16) > 0:
		n := count(s[1:min(3, len(s))], 16)
		return d.byteOf(s[1:1+n], 16, 1+n)
	case c == 'u':
		return d.char(s, 1, 4)
	case c == 'U':
		return d.char(s, 1, 8)
	}
	return 0
}

// named reads what follows the escape character in U&'…'. It returns its length, or -1 for what is wrong.
func (d *decoder) named(s string) int {
	switch {
	case s == "":
		return -1
	case s[0] == d.unicode:
		d.raw(s[0])
		return 1
	case s[0] == '+':
		return d.char(s, 1, 6)
	}
	return d.char(s, 0, 4)
}

// byteOf adds the byte that digits name, and returns length, or -1 for what is wrong. A byte that
// is not ASCII is one of the server's encoding, which is taken for the client's only if that is
// UTF8.
func (d *decoder) byteOf(digits string, base, length int) int {
	v, err := strconv.ParseUint(digits, base, 16)
	c := byte(v) // as the server does: \777 is \377
	if err != nil || c == 0 || (c >= utf8.RuneSelf && d.enc != UTF8) {
		return -1
	}
	d.raw(c)
	return length
}

// char adds the character whose code point is the digits of s from start on, or half of one in
// UTF-16. It returns where the digits end, or -1 for what is wrong.
func (d *decoder) char(s string, start, digits int) int {
	end := start + digits
	if len(s) < end || count(s[start:end], 16) < digits {
		return -1
	}
	v, err := strconv.ParseUint(s[start:end], 16, 32)
	r := rune(v)
	if err != nil || v == 0 || v > utf8.MaxRune || (r >= utf8.RuneSelf && d.enc != UTF8) {
		return -1
	}
	switch {
	case d.pending > 0:
		if r = utf16.DecodeRune(d.pending, r); r == utf8.RuneError {
			return -1
		}
		d.pending = 0
	case utf16.IsSurrogate(r):
		d.pending = r
		return end
	}
	d.out.WriteRune(r)
	return end
}

// count returns how many digits of the base s starts with.
func count(s string, base int) int {
	n := 0
	for n < len(s) {
		if _, err := strconv.ParseUint(s[n:n+1], base, 8); err != nil {
			break
		}
		n++
	}
	return n
}
