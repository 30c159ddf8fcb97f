package selector

import (
	"cmp"
	"slices"

	"mbusproxy/selector/pattern"
)

var (
	likes   = []string{"~~", "!~~", "~~*", "!~~*"}
	regexps = []string{"~", "!~", "~*", "!~*"}
)

// match makes LIKE, ILIKE and the operators of regular expressions.
func (c *compiler) match(name string, a, sought *expr) (*expr, *Error) {
	var err *Error
	for _, e := range []**expr{&a, &sought} {
		if *e, err = c.known(*e, text); err != nil {
			return nil, err
		}
	}
	if a.typ != text || sought.typ != text {
		return nil, noOperator(name, a, sought)
	}
	if sought.lit == nil {
		return nil, refuse(sought.at, codeNotSupported, hintConstant, "a pattern that is no constant is not allowed in a selector")
	}
	if err := sameCollation(a.at, a, sought); err != nil {
		return nil, err
	}
	byByte := 0
	if p := sought.lit; !p.null {
		check := pattern.CheckRegexp
		if slices.Contains(likes, name) {
			check = pattern.CheckLike
		}
		steps, refused := check(p.text)
		if refused != nil {
			return nil, refusePattern(sought.at, refused)
		}
		if byByte = 4 + 2*steps; slices.Contains(regexps, name) {
			byByte = 10 * steps
			c.regexps[p.text+name] = cost{steps * byPattern, sought.at}
		}
	}
	if name != "~~" && name != "!~~" {
		a = c.handled(a)
		byByte += byteCost("lower", 0)
	}
	return c.costs(strict(boolean, op(a.val, name, sought.val), a, sought), a.usual()*byByte), nil
}

// refusePattern is the Error for a pattern.
func refusePattern(at int, r *pattern.Refusal) *Error {
	return &Error{Code: r.Code, Message: r.Message, Hint: cmp.Or(r.Hint, hintShorter), Offset: at}
}
