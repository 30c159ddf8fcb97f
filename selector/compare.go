package selector

import (
	"slices"
)

var comparisons = []string{"=", "<>", "<", "<=", ">", ">="}

// compare makes one of the comparisons, with the operator that Postgres would choose.
func (c *compiler) compare(name string, a, b *expr) (*expr, *Error) {
	t, err := commonType("", []*expr{a, b})
	if err != nil || !comparable(t, name) {
		return nil, noOperator(name, a, b)
	}
	args, err := c.alike(t, []*expr{a, b})
	if err != nil {
		return nil, err
	}
	a, b = args[0], args[1]
	if err := sameCollation(a.at, a, b); err != nil {
		return nil, err
	}
	if name != "=" && name != "<>" {
		a, b = c.handled(a), c.handled(b)
	}
	written := op(a.val, name, b.val)
	if t == hstore {
		written = c.hstoreOp(a.val, name, b.val)
	}
	return c.compareCost(total(boolean, written, a, b), name, a, b), nil
}

// comparable reports whether values of a type can be compared so.
func comparable(t typ, name string) bool {
	return name == "=" || name == "<>" || !t.holds() && !t.isArray()
}

func noOperator(name string, a, b *expr) *Error {
	hint := hintOperators
	switch {
	case a.typ == hstore && (name == "->>" || name == "#>" || name == "#>>"): // those of JSON
		hint = hintKey
	case a.typ.isTime() || b.typ.isTime():
		hint = hintElapsed
	case a.typ != b.typ && slices.Contains(comparisons, name):
		hint = hintCast
	}
	return refuse(a.at, codeUndefinedFunction, hint, "operator does not exist, or is not allowed in a selector: %s %s %s", a.typ, name, b.typ)
}

// distinct makes IS DISTINCT FROM.
func (c *compiler) distinct(a, b *expr, negated bool) (*expr, *Error) {
	eq, err := c.compare("=", a, b)
	if err != nil {
		return nil, err
	}
	t, err := commonType("", []*expr{a, b})
	if err != nil {
		return nil, err
	}
	args, err := c.alike(t, []*expr{a, b})
	if err != nil {
		return nil, err
	}
	val := "(" + eq.val + " is not true and not (" + args[0].val + " is null and " + args[1].val + " is null))"
	for _, x := range args {
		if x.lit != nil && !x.lit.null {
			val = "(" + eq.val + " is not true)"
		}
	}
	if negated {
		val = "(not " + val + ")"
	}
	return merge(boolean, val, eq).notStrict(), nil
}

// in makes IN and NOT IN. As Postgres has it, constants become one array to which the value is compared, and all
// else is compared one after the other.
func (c *compiler) in(a *expr, list []*expr, negated bool) (*expr, *Error) {
	var constants, rest []*expr
	for _, e := range list {
		if e.vars {
			rest = append(rest, e)
		} else {
			constants = append(constants, e)
		}
	}
	if len(constants) < 2 {
		constants, rest = nil, list
	}
	name := "="
	if negated {
		name = "<>"
	}
	var tests []*expr
	if constants != nil {
		t, err := commonType("IN", append([]*expr{a}, constants...))
		if err != nil {
			return nil, err
		}
		args, err := c.alike(t, constants)
		if err != nil {
			return nil, err
		}
		if t.holds() || t.isArray() {
			return nil, refuse(a.at, codeMismatch, "Compare the values one by one.", "IN with type %s is not allowed in a selector", t)
		}
		test, err := c.compareAny(name, a, c.arrayOf(t, args, a.at), negated)
		if err != nil {
			return nil, err
		}
		tests = append(tests, test)
	}
	length := 0
	for _, e := range rest {
		test, err := c.compare(name, a, e)
		if err != nil {
			return nil, err
		}
		if length += len(test.val) + len(test.err); length > maxCondition {
			return nil, tooComplex(a.at)
		}
		tests = append(tests, test)
	}
	switch {
	case len(tests) == 1:
		return tests[0], nil
	case negated:
		return conjunction(tests...), nil
	}
	return disjunction(tests...), nil
}

// compareAny makes  a = any (array)  and  a = all (array).
func (c *compiler) compareAny(name string, a, list *expr, all bool) (*expr, *Error) {
	if !slices.Contains(comparisons, name) {
		return nil, refuse(a.at, codeNotSupported, "Only comparisons may stand before ANY and ALL.", "operator %s with ANY or ALL is not allowed in a selector", name)
	}
	var err *Error
	if list.typ == unknown {
		if a, err = c.known(a, text); err != nil {
			return nil, err
		}
		if a.typ.isArray() || a.typ.holds() {
			return nil, noOperator(name, a, list)
		}
		if list, err = c.known(list, a.typ|array); err != nil {
			return nil, err
		}
	}
	if !list.typ.isArray() {
		return nil, refuse(list.at, codeMismatch, "", "ANY and ALL require an array on the right side, not %s", list.typ)
	}
	elem := &expr{typ: list.typ.elem(), at: list.at}
	t, err := commonType("", []*expr{a, elem})
	if err != nil || !comparable(t, name) {
		return nil, noOperator(name, a, elem)
	}
	if a, err = c.convert(a, t); err != nil {
		return nil, err
	}
	if name != "=" && name != "<>" {
		if t == text && list.lit == nil {
			return nil, refuse(list.at, codeNotSupported, hintConstant, "operator %s with an array of text that is no constant is not allowed in a selector", name)
		}
		a = c.handled(a)
	}
	left, right := c.as(a, t), list.val
	if t != elem.typ {
		if elem.typ == numeric && list.lit == nil {
			return nil, noOperator(name, a, elem) // a number of the array may be too great for double precision
		}
		right = c.cast(right, t|array)
	}
	word := " any "
	if all {
		word = " all "
	}
	e := c.compareCost(merge(boolean, "("+left+" operator(pg_catalog."+name+")"+word+"("+right+"))", a, list), name, a, list)
	if list.lit != nil && list.lit.elems > 0 && !list.lit.holes {
		e.errNull = a.errNull
		return e, nil
	}
	return e.notStrict(), nil // for an empty array it is not null
}
