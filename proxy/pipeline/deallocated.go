package pipeline

import "strings"

// drops are the names of statements that DEALLOCATE in a text takes away when it is executed.
type drops struct {
	names []string
	all   bool // it may be any of them
}

// maxDrops bounds drops.names. A text with more drops all: a plan dropped too early costs the mapping of
// a position.
const maxDrops = 64

// deallocatedNames returns the names that follow the word DEALLOCATE in text. It reads no SQL: a
// name found in a comment costs at most the mapping of a position. Nothing of text is kept.
func deallocatedNames(text []byte) (d drops) {
	for at := nextWord(text, 0, "deallocate"); at >= 0; at = nextWord(text, at, "deallocate") {
		if len(d.names) == maxDrops {
			return drops{all: true}
		}
		at += len("deallocate")
		head := blankHead(text, at)
		if len(head) > 8 && hasWord(head, "prepare") && isSpace(head[7]) {
			head = blankHead(text, at+blanks(text[at:])+7)
		}
		switch name := leadingIdentifier(head); {
		case name != "":
			d.names = append(d.names, name)
		case head != "": // a comment, or more white space than is followed
			return drops{all: true}
		}
	}
	return d
}

// headSize is how much of a text is looked at for one name: a quoted one may double each of its bytes.
const headSize = 2*maxName + 16

// blankHead copies the head of what follows the white space at text[at:].
func blankHead(text []byte, at int) string {
	at += blanks(text[at:])
	return string(text[at:min(len(text), at+headSize)])
}

// blanks is the length of the white space at the head of text, as far as it is followed.
func blanks(text []byte) (n int) {
	for n < len(text) && n < maxBlank && isSpace(text[n]) {
		n++
	}
	return n
}

// maxBlank is how much white space is followed.
const maxBlank = 1 << 10

// nextWord returns where word, which is lower case, begins in text[at:] in any case; -1: nowhere.
func nextWord(text []byte, at int, word string) int {
	for ; at+len(word) <= len(text); at++ {
		if text[at]|0x20 == word[0] && hasWord(text[at:], word) {
			return at
		}
	}
	return -1
}

// leadingIdentifier reads a plain or quoted identifier at the head of s as Postgres folds it.
func leadingIdentifier(s string) string {
	if strings.HasPrefix(s, `"`) {
		name, _, ok := quotedName(s)
		if !ok { // cut off in the head
			name, _, _ = quotedName(s[:min(len(s), headSize)] + `"`)
		}
		return nameKey([]byte(name))
	}
	end := 0
	for end < len(s) && !isSpace(s[end]) && s[end] != ';' && s[end] != '-' && s[end] != '/' {
		end++
	}
	return nameKey([]byte(asciiLower(s[:end])))
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}

func skipSpace(s string) string { return strings.TrimLeft(s, " \t\n\r\f\v") }

// asciiLower folds A-Z only, so offsets stay those of s.
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
