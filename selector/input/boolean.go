package input

import (
	"slices"
	"strings"
)

// TrueWords are the words for true: Postgres takes any beginning of them that leaves no doubt.
func TrueWords() []string { return []string{"1", "on", "t", "tr", "tru", "true", "y", "ye", "yes"} }

// FalseWords are the words for false.
func FalseWords() []string {
	return []string{"0", "f", "fa", "fal", "fals", "false", "n", "no", "of", "off"}
}

// Boolean reads a text as boolin does.
func Boolean(s string) (value, ok bool) {
	s = strings.ToLower(strings.Trim(s, spaces))
	return slices.Contains(TrueWords(), s), slices.Contains(TrueWords(), s) || slices.Contains(FalseWords(), s)
}
