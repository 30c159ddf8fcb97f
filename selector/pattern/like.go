package pattern

import "fmt"

const maxLike = 1000 // bytes

// CheckLike returns why a pattern of LIKE is not allowed; nil: it is.
func CheckLike(p string) *Refusal {
	if len(p) > maxLike {
		return &Refusal{Code: codeProgramLimit, Message: fmt.Sprintf("a pattern of %d bytes is too long, it may have %d", len(p), maxLike)}
	}
	escapes := 0
	for i := len(p) - 1; i >= 0 && p[i] == '\\'; i-- {
		escapes++
	}
	if escapes%2 == 1 {
		return &Refusal{Code: codeInvalidEscape, Message: "LIKE pattern must not end with escape character", Hint: `Write \\ for a backslash.`}
	}
	return nil
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
