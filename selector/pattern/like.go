package pattern

import (
	"fmt"
	"strings"
)

const (
	maxLike   = 1000 // bytes
	anyLetter = -1   // stands for _
)

// CheckLike returns why a pattern of LIKE is not allowed; nil: it is. steps is how often at most a letter of a text is compared.
func CheckLike(p string) (steps int, refused *Refusal) {
	if len(p) > maxLike {
		return 0, &Refusal{Code: codeProgramLimit, Message: fmt.Sprintf("a pattern of %d bytes is too long, it may have %d", len(p), maxLike)}
	}
	escapes := 0
	for i := len(p) - 1; i >= 0 && p[i] == '\\'; i-- {
		escapes++
	}
	if escapes%2 == 1 {
		return 0, &Refusal{Code: codeInvalidEscape, Message: "LIKE pattern must not end with escape character", Hint: `Write \\ for a backslash.`}
	}
	return likeSteps(p), nil
}

// likeSteps: behind each % the server looks for what comes up to the next one at each place of the text, and goes on to the next place
// where a letter differs; what it has found it does not look for again. So each letter is compared as often as the first
// letter sought stands in what is sought, at most. Capitals are the same as small letters, for ILIKE.
func likeSteps(p string) int {
	var sought []rune
	most, escaped := 0, false
	end := func() {
		n := 0
		for _, r := range sought {
			if r == sought[0] || r == anyLetter {
				n++
			}
		}
		most, sought = max(most, n), sought[:0]
	}
	for _, r := range strings.ToLower(p) {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = true
			continue
		case r == '%':
			end()
			continue
		case r == '_' && len(sought) == 0:
			continue // passed by at once
		case r == '_':
			r = anyLetter
		}
		sought = append(sought, r)
	}
	end()
	return most
}

// Escape turns a pattern with another escape character into one with a backslash.
func Escape(like, escape string) (string, *Refusal) {
	if len([]rune(escape)) > 1 {
		return "", &Refusal{Code: codeInvalidEscape, Message: "invalid escape string", Hint: "Escape string must be empty or one character."}
	}
	if escape == `\` {
		return like, nil
	}
	var out []rune
	escaped := false
	for _, r := range like {
		switch {
		case string(r) == escape && !escaped:
			out, escaped = append(out, '\\'), true
			continue
		case r == '\\' && !escaped:
			out = append(out, '\\', '\\')
		default:
			out = append(out, r)
		}
		escaped = false
	}
	return string(out), nil
}
