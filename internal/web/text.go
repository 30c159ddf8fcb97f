package web

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostRunes is how much of a text is shown where nothing else is said.
const mostRunes = 2000

// Text is a text of somebody else's: of a database, or of a browser. Where it is printed,
// characters that show nothing, or make others show what they are not, are made visible, and its
// length is bounded.
type Text string

// String is the text as it is shown.
func (t Text) String() string { return visible(string(t), mostRunes) }

// Short is the text as it is shown in a table.
func (t Text) Short() string { return visible(string(t), 120) }

// Raw is the text as it is, for values of forms and addresses.
func (t Text) Raw() string { return string(t) }

// visible makes a text that can be read: as many of its runes as asked, control characters as their
// pictures, and those that hide or turn what follows as their numbers.
func visible(s string, most int) string {
	var b strings.Builder
	n := 0
	for i, r := range s {
		if n == most {
			fmt.Fprintf(&b, "… (%d more bytes)", len(s)-i)
			break
		}
		n++
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "⟨%02X⟩", s[i])
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < ' ':
			b.WriteRune('␀' + r)
		case r == 0x7f:
			b.WriteRune('␡')
		case hides(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// cut is visible for a place of so many characters, in which there is no room to say how much is missing.
func cut(s string, most int) string {
	runes := []rune(strings.NewReplacer("\n", "␊", "\t", "␉").Replace(visible(s, most+1)))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}

// hides reports whether a character shows nothing, or changes how others are shown: Unicode's
// format characters, among them all that turn the direction, other spaces than the usual one, and
// what is not assigned or for private use.
func hides(r rune) bool {
	switch {
	case r == ' ':
		return false
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Cc, r), unicode.Is(unicode.Co, r), unicode.Is(unicode.Zs, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
		return true
	case r == 0x3164 || r == 0x115f || r == 0x1160 || r == 0xffa0 || r == 0x034f || r == 0x2800: // fillers that are letters or symbols
		return true
	}
	return !unicode.IsGraphic(r)
}
