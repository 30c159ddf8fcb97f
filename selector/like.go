package selector

import "slices"

var (
	likes   = []string{"~~", "!~~", "~~*", "!~~*"}
	regexps = []string{"~", "!~", "~*", "!~*"}
)

const (
	maxLike   = 1000 // bytes of the pattern of LIKE
	maxRegexp = 200  // and of a regular expression
)

// match makes LIKE, ILIKE and the operators of regular expressions.
func (c *compiler) match(name string, a, pattern *expr) (*expr, *Error) {
	var err *Error
	for _, e := range []**expr{&a, &pattern} {
		if *e, err = c.known(*e, text); err != nil {
			return nil, err
		}
	}
	if a.typ != text || pattern.typ != text {
		return nil, noOperator(name, a, pattern)
	}
	if pattern.lit == nil {
		return nil, refuse(pattern.at, codeNotSupported, hintConstant, "a pattern that is no constant is not allowed in a selector")
	}
	if err := sameCollation(a.at, a, pattern); err != nil {
		return nil, err
	}
	if p := pattern.lit; !p.null {
		if slices.Contains(likes, name) {
			err = checkLike(p.text, pattern.at)
		} else {
			err = checkRegexp(p.text, pattern.at)
		}
		if err != nil {
			return nil, err
		}
	}
	if name != "~~" && name != "!~~" {
		a = c.handled(a)
	}
	return strict(boolean, op(a.val, name, pattern.val), a, pattern), nil
}

func checkLike(p string, at int) *Error {
	if len(p) > maxLike {
		return refuse(at, codeProgramLimit, hintShorter, "a pattern of %d bytes is too long, it may have %d", len(p), maxLike)
	}
	escapes := 0
	for i := len(p) - 1; i >= 0 && p[i] == '\\'; i-- {
		escapes++
	}
	if escapes%2 == 1 {
		return refuse(at, codeInvalidEscape, `Write \\ for a backslash.`, "LIKE pattern must not end with escape character")
	}
	return nil
}

// likeEscape turns a pattern with another escape character into one with a backslash.
func likeEscape(pattern, escape string, at int) (string, *Error) {
	if len([]rune(escape)) > 1 {
		return "", refuse(at, codeInvalidEscape, "Escape string must be empty or one character.", "invalid escape string")
	}
	if escape == `\` {
		return pattern, nil
	}
	var out []rune
	escaped := false
	for _, r := range pattern {
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
