package selector

import (
	"slices"
	"strings"

	"mbusproxy/selector/input"
)

// jsonOperators are jsonb's own, all with jsonb on their left, or on their right for <@. None raises an error.
var jsonOperators = []string{"->", "->>", "#>", "#>>", "?", "?&", "?|", "@>", "<@"}

func (c *compiler) jsonOperator(name string, a, b *expr) (*expr, *Error) {
	var right typ // of a constant of unknown type
	switch name {
	case "->", "->>", "?":
		right = text
	case "@>", "<@":
		right = jsonb
	default:
		right = text | array
	}
	var err *Error
	if a, err = c.known(a, jsonb); err != nil {
		return nil, err
	}
	if b, err = c.known(b, right); err != nil {
		return nil, err
	}
	result, fits := boolean, b.typ == right
	switch name {
	case "->", "->>":
		fits = fits || b.typ == int4 || b.typ == int2
	case "@>", "<@": // they compare each element with each
		if fits && a.lit == nil && b.lit == nil {
			return nil, refuse(a.at, codeNotSupported, "One of them must be a constant.", "operator %s between such values is not allowed in a selector", name)
		}
	}
	switch name {
	case "->", "#>":
		result = jsonb
	case "->>", "#>>":
		result = text
	}
	if !fits || a.typ != jsonb {
		return nil, noOperator(name, a, b)
	}
	written := b.val
	if b.typ.isInt() {
		written = c.as(b, int4)
	}
	e := strict(result, op(a.val, name, written), a, b)
	for _, x := range []*expr{a, b} {
		if x.lit != nil && strings.Contains(x.lit.text, "[") {
			c.costs(e, 8*usualText*len(x.lit.text)) // each element is compared with each
		}
	}
	return e, nil
}

// isJSON reports whether an operator between values of these types is one of jsonb's.
func isJSON(name string, a, b *expr) bool {
	return (a.typ == jsonb || b.typ == jsonb && name == "<@") && slices.Contains(jsonOperators, name)
}

// jsonLiteral reads a constant in JSON.
func (c *compiler) jsonLiteral(e *expr) (*expr, *Error) {
	if !input.JSON(e.lit.text) {
		return nil, refuse(e.at, codeInvalidText, hintJSON, "invalid input syntax for type json: \"%s\"", e.lit.text)
	}
	e.val = quote(e.lit.text) + "::pg_catalog.jsonb"
	return e, nil
}

const hintJSON = "JSON has at most 100 levels, no escapes like \\u0041, and numbers with exponents of at most two digits."
