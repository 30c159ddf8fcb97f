package sqlfuncs

import (
	"strings"
	"unicode/utf8"
)

// Fold folds a name of a queue, a consumer or a function to lower case: A to Z and nothing else, as
// the server does with names that are not quoted, and as its lower() does in the collation "C",
// whatever the language of the database.
func Fold(name string) string {
	if !strings.ContainsFunc(name, isCapital) {
		return name
	}
	folded := []byte(name) // not rune by rune: it may be in any encoding
	for i, c := range folded {
		if isCapital(rune(c)) {
			folded[i] = c + ('a' - 'A')
		}
	}
	return string(folded)
}

func isCapital(c rune) bool { return 'A' <= c && c <= 'Z' }

// identSize is how many bytes the server keeps of an identifier: NAMEDATALEN - 1 of its pg_config_manual.h.
const identSize = 63

// CutIdent cuts an identifier off where the server does, with a NOTICE.
func CutIdent(s string) string {
	if len(s) <= identSize {
		return s
	}
	end := identSize
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// IsCut reports whether the parser may have cut an identifier off.
func IsCut(s string) bool { return len(s) > identSize-utf8.UTFMax }
