package pipeline

import "strings"

// act is a statement of a text that gives a name of the protocol a meaning, or takes it away, when
// it is executed: PREPARE, DEALLOCATE of one name, DECLARE.
type act struct {
	tag    string // of its CommandComplete
	portal bool   // it names a portal, not a statement
	name   string // empty when it could not be read
}

// maxActs is how many acts of a text are told apart.
const maxActs = 256

// actsOf returns the acts of a text in order, the first maxActs+1 of them. It knows of SQL only what it takes
// to find where statements begin: how strings, names and comments are written. Nothing of text is kept.
func actsOf(text []byte, escapeStrings bool) (acts []act) {
	if !mayAct(text) {
		return nil
	}
	r := sqlReader{rest: string(text), escapes: escapeStrings}
	for t := r.next(); t.kind != sqlEnd; t = r.next() {
		if t.kind == sqlSemicolon {
			continue
		}
		var a act
		if t.kind == sqlWord {
			switch t.text {
			case "prepare":
				a.tag = "PREPARE"
			case "deallocate":
				a.tag = "DEALLOCATE"
			case "declare":
				a.tag, a.portal = "DECLARE CURSOR", true
			}
		}
		t = r.next()
		if a.tag == "DEALLOCATE" && t.kind == sqlWord && t.text == "prepare" {
			if after := r.next(); after.kind == sqlWord || after.kind == sqlName {
				t = after
			} else { // a statement of the name "prepare"
				acts = append(acts, act{tag: a.tag, name: "prepare"})
				a, t = act{}, after
			}
		}
		other := t.kind == sqlWord && // PREPARE TRANSACTION, DEALLOCATE ALL have other tags
			(a.tag == "PREPARE" && t.text == "transaction" || a.tag == "DEALLOCATE" && t.text == "all")
		if a.tag != "" && !other {
			if t.kind == sqlWord || t.kind == sqlName {
				a.name = nameKey([]byte(t.text))
			}
			if acts = append(acts, a); len(acts) > maxActs {
				return acts
			}
		}
		for t.kind != sqlSemicolon && t.kind != sqlEnd {
			t = r.next()
		}
	}
	return acts
}

// mayAct is the cheap test for a text that may hold acts.
func mayAct(text []byte) bool {
	for i := range len(text) {
		switch text[i] {
		case 'p', 'P':
			if hasWord(text[i:], "prepare") {
				return true
			}
		case 'd', 'D':
			if hasWord(text[i:], "deallocate") || hasWord(text[i:], "declare") {
				return true
			}
		}
	}
	return false
}

func hasWord[T string | []byte](s T, word string) bool {
	return len(s) >= len(word) && strings.EqualFold(string(s[:len(word)]), word)
}

// maxName is NAMEDATALEN - 1 of the server: of longer names of statements and portals it looks at
// the head only, also when the protocol names them.
const maxName = 63

// nameKey is what the server looks at of a name.
func nameKey(name []byte) string { return string(name[:min(len(name), maxName)]) }

// Kinds of sqlToken.
const (
	sqlEnd  = iota
	sqlWord // a keyword or plain name, folded
	sqlName // a quoted name, without its quotes
	sqlSemicolon
	sqlOther // anything else; one token may come as several
)

type sqlToken struct {
	kind int
	text string // of sqlWord and sqlName
}

// sqlReader splits a text into tokens as the server's scan.l does, as far as actsOf needs.
type sqlReader struct {
	rest    string
	escapes bool // a backslash means something in '…'
}

func (r *sqlReader) next() sqlToken {
	r.skipBlank()
	s := r.rest
	if s == "" {
		return sqlToken{}
	}
	switch c := s[0]; {
	case c == ';':
		r.rest = s[1:]
		return sqlToken{kind: sqlSemicolon}
	case c == '\'':
		r.quoted(1, r.escapes)
	case c == '"':
		name, rest, _ := quotedName(s)
		r.rest = rest
		return sqlToken{kind: sqlName, text: name}
	case c == '$':
		r.dollar()
	case c >= '0' && c <= '9':
		n := 1
		for n < len(s) && (isWordByte(s[n]) && s[n] != '$' || s[n] == '.') {
			n++
		}
		r.rest = s[n:]
	case isWordByte(c):
		return r.word()
	default:
		r.rest = s[1:]
	}
	return sqlToken{kind: sqlOther}
}

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// skipBlank skips white space and comments.
func (r *sqlReader) skipBlank() {
	for {
		r.rest = skipSpace(r.rest)
		switch {
		case strings.HasPrefix(r.rest, "--"):
			end := strings.IndexAny(r.rest, "\r\n")
			if end < 0 {
				end = len(r.rest)
			}
			r.rest = r.rest[end:]
		case strings.HasPrefix(r.rest, "/*"):
			depth, i := 1, 2
			for i < len(r.rest) && depth > 0 {
				switch {
				case strings.HasPrefix(r.rest[i:], "/*"):
					depth++
					i += 2
				case strings.HasPrefix(r.rest[i:], "*/"):
					depth--
					i += 2
				default:
					i++
				}
			}
			r.rest = r.rest[i:]
		default:
			return
		}
	}
}

// word reads a word, and the string it may be the prefix of.
func (r *sqlReader) word() sqlToken {
	s := r.rest
	n := 1
	for n < len(s) && isWordByte(s[n]) {
		n++
	}
	word := asciiLower(s[:n])
	switch {
	case word == "u" && (strings.HasPrefix(s[n:], "&'") || strings.HasPrefix(s[n:], `&"`)):
		if s[n+1] == '\'' {
			r.quoted(n+2, false)
		} else {
			_, r.rest, _ = quotedName(s[n+1:]) // a name, but its escapes are not read
		}
		return sqlToken{kind: sqlOther}
	case n < len(s) && s[n] == '\'' && (word == "e" || word == "b" || word == "x"):
		r.quoted(n+1, word == "e")
		return sqlToken{kind: sqlOther}
	}
	r.rest = s[n:]
	return sqlToken{kind: sqlWord, text: word}
}

// quoted skips a string whose contents begin at i, with the parts that continue it behind a line
// break.
func (r *sqlReader) quoted(i int, escapes bool) {
	s := r.rest
	for i < len(s) {
		switch {
		case s[i] == '\\' && escapes:
			i += 2
		case s[i] != '\'':
			i++
		case strings.HasPrefix(s[i:], "''"):
			i += 2
		default:
			after := skipSpace(s[i+1:])
			gap := s[i+1 : len(s)-len(after)]
			if !strings.HasPrefix(after, "'") || !strings.ContainsAny(gap, "\r\n") {
				r.rest = s[i+1:]
				return
			}
			i += 1 + len(gap) + 1
		}
	}
	r.rest = ""
}

// dollar skips $tag$…$tag$, or a lone dollar sign.
func (r *sqlReader) dollar() {
	s := r.rest
	n := 1
	for n < len(s) && s[n] != '$' && isWordByte(s[n]) && (n > 1 || s[n] < '0' || s[n] > '9') {
		n++
	}
	if n == len(s) || s[n] != '$' {
		r.rest = s[1:]
		return
	}
	tag := s[:n+1]
	_, rest, _ := strings.Cut(s[n+1:], tag)
	r.rest = rest
}

// quotedName reads a name in double quotes at the head of s.
func quotedName(s string) (name, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != '"' {
			b.WriteByte(s[i])
			continue
		}
		if i+1 == len(s) || s[i+1] != '"' {
			return b.String(), s[i+1:], true
		}
		b.WriteByte('"')
		i++
	}
	return "", "", false
}
