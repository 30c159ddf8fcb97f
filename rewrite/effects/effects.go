package effects

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"mbusproxy/rewrite/lex"
)

// Effect is what a statement does, once it is executed, to the name of a prepared statement or
// portal. DEALLOCATE ALL has none, since its command tag says all.
type Effect struct {
	// Tag is the command tag with which the server says that it is done.
	Tag string
	// Portal says that the name is that of a portal, and not of a prepared statement.
	Portal bool
	// Name is the name as the server knows it, in the client's encoding; "" where that cannot be said here.
	Name string
}

// Command tags of the statements that have effects.
const (
	tagPrepare    = "PREPARE"
	tagDeallocate = "DEALLOCATE"
	tagDeclare    = "DECLARE CURSOR"
)

// Max is the highest number of effects that Of returns.
const Max = 256

// maxName is the length of the longest name in the server, in bytes (NAMEDATALEN - 1). Of a longer
// one it keeps the characters that lie within that.
const maxName = 63

// WordSize is the length of the longest word that MayHave looks for.
const WordSize = len("deallocate")

// MayHave is the cheap test for a text in which Of may find something. It may be shown the parts of
// a text instead, if each begins with the last WordSize - 1 bytes of the one before.
func MayHave(text []byte) bool {
	for i, c := range text {
		switch c | 0x20 {
		case 'p':
			if startsWith(text[i:], "prepare") {
				return true
			}
		case 'd':
			if startsWith(text[i:], "deallocate") || startsWith(text[i:], "declare") {
				return true
			}
		}
	}
	return false
}

// MaySetTimeouts is the cheap test for texts that may change statement_timeout or another timeout
// of the session: by name, by what takes back such a change, or by a setting whose name is given
// elsewhere. What functions and roles change it does not see.
func MaySetTimeouts(text []byte) bool {
	for i, c := range text {
		switch c | 0x20 {
		case 't', 'c', 'r', 'd':
			rest := text[i:]
			for _, word := range [...]string{"timeout", "config", "rollback", "reset", "discard", "role", "authorization"} {
				if startsWith(rest, word) {
					return true
				}
			}
		}
	}
	return false
}

// MayDeallocate is the cheap test for a text that may take prepared statements away where no
// command tag says so: it holds the word DEALLOCATE and is not just a DEALLOCATE of one name.
func MayDeallocate(text []byte) bool {
	const word = "deallocate"
	for rest := text; ; {
		i := bytes.IndexAny(rest, "dD")
		if i < 0 {
			return false
		}
		if rest = rest[i:]; startsWith(rest, word) {
			break
		}
		rest = rest[1:]
	}
	text = bytes.TrimRight(bytes.TrimLeft(text, " \t\r\n"), "; \t\r\n")
	if !startsWith(text, word) {
		return true
	}
	name := text[len(word):]
	return bytes.ContainsAny(name, ";'$") || bytes.Contains(bytes.ToLower(name), []byte("all"))
}

// startsWith reports whether text begins with word in any case.
func startsWith(text []byte, word string) bool {
	return len(text) >= len(word) && bytes.EqualFold(text[:len(word)], []byte(word))
}

// Of returns the effects of the statements of a text in their order; of a text that the server does
// not accept it may return anything. more says that there are others behind the first Max. escapes
// says that a backslash escapes in plain strings. What it returns keeps no memory of the text.
func Of(text, encoding string, escapes bool) (effects []Effect, more bool) {
	enc := lex.EncodingOf(encoding)
	r := reader{text: text, enc: enc, lex: lex.Lexer{Text: enc.Parseable(text), Escapes: escapes}}
	for r.next(); !r.atEnd(); r.next() {
		tag, name := r.statement()
		if tag != "" {
			if len(effects) == Max {
				return effects, true
			}
			effects = append(effects, Effect{Tag: tag, Portal: tag == tagDeclare, Name: name})
		}
		for !r.atEnd() && !r.atSemicolon() {
			r.next()
		}
	}
	return effects, false
}

// reader reads a text statement by statement. token is the token at which it stands.
type reader struct {
	text  string // the client's, of the same length as that of lex
	enc   lex.Encoding
	lex   lex.Lexer
	token lex.Token
}

func (r *reader) next() { r.token = r.lex.Next() }

func (r *reader) atEnd() bool { return r.token.Kind == lex.End || r.token.Kind == lex.Open }

func (r *reader) atSemicolon() bool {
	return r.token.Kind == lex.Symbol && r.text[r.token.Start] == ';'
}

// atWord reports whether the token is a keyword, or a name that could be one.
func (r *reader) atWord(word string) bool {
	return r.token.Kind == lex.Word && r.token.End-r.token.Start == len(word) &&
		startsWith([]byte(r.text[r.token.Start:r.token.End]), word)
}

// statement reads a statement as far as the name in it, and returns the tag and name of its effect; "" for no effect.
func (r *reader) statement() (tag, name string) {
	switch {
	case r.atWord("prepare"):
		r.next()
		transaction := r.atWord("transaction")
		name, ok := r.name()
		if !ok || transaction && (r.token.Kind == lex.String || r.token.Kind == lex.Prefixed) { // PREPARE TRANSACTION 'x'
			return "", ""
		}
		return tagPrepare, name
	case r.atWord("deallocate"):
		r.next()
		word := r.atWord("prepare")
		if word {
			r.next()
		}
		all := r.atWord("all")
		name, ok := r.name()
		switch {
		case ok && !all:
			return tagDeallocate, name
		case word && !ok: // a statement of that name
			return tagDeallocate, "prepare"
		}
	case r.atWord("declare"):
		r.next()
		if name, ok := r.name(); ok {
			return tagDeclare, name
		}
	}
	return "", ""
}

// name reads a name and leaves the reader behind it. It is false if there is none. The name is "" if it is not known.
func (r *reader) name() (name string, ok bool) {
	t := r.token
	switch t.Kind {
	case lex.Word:
		name = r.plainName(t)
	case lex.Name:
		name = strings.ReplaceAll(r.text[t.Start+1:t.End-1], `""`, `"`)
	case lex.EscapeName:
		r.next()
		return clipName(r.escapeName(t), r.enc), true
	default:
		return "", false
	}
	r.next()
	return clipName(name, r.enc), true
}

// escapeName returns the name that U&"…" says, together with a UESCAPE, if the reader stands at
// one. It is "" if that is wrong, or if the bytes of the name in the client's encoding are not
// known.
func (r *reader) escapeName(t lex.Token) string {
	escape := byte('\\')
	if r.atWord("uescape") {
		r.next()
		literal := r.text[r.token.Start:r.token.End]
		if r.token.Kind != lex.String || len(literal) != len("'!'") || literal[1] >= utf8.RuneSelf {
			return ""
		}
		escape = literal[1]
		r.next()
	}
	name, _ := lex.DecodeName(r.text[t.Start+len(`U&"`):t.End-1], r.enc, escape)
	return name
}

// clipName returns what the server keeps of a name (truncate_identifier) if its encoding is the client's.
func clipName(name string, enc lex.Encoding) string {
	if len(name) <= maxName {
		return strings.Clone(name)
	}
	end := 0
	for {
		n := enc.CharLen(name[end:])
		if end+n > maxName {
			return strings.Clone(name[:end])
		}
		end += n
	}
}

// plainName folds a name without quotes as the server does in encodings of several bytes (downcase_identifier).
func (r *reader) plainName(t lex.Token) string {
	name := []byte(r.text[t.Start:t.End])
	for i, c := range []byte(r.lex.Text[t.Start:t.End]) {
		if c == name[i] && c >= 'A' && c <= 'Z' { // no half of a character
			name[i] = c | 0x20
		}
	}
	return string(name)
}
