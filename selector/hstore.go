package selector

// hstoreOperators are hstore's own, all with hstore on their left, or on their right for <@.
var hstoreOperators = []string{"->", "?", "?&", "?|", "@>", "<@", "-"}

func (c *compiler) hstoreOp(a, name, b string) string {
	return "(" + a + " operator(" + c.env.written() + "." + name + ") " + b + ")"
}

func (c *compiler) hstoreOperator(name string, a, b *expr) (*expr, *Error) {
	var right typ // of a constant of unknown type
	switch name {
	case "->", "?":
		right = text
	case "?&", "?|":
		right = text | array
	default:
		right = hstore
	}
	var err *Error
	if a, err = c.known(a, hstore); err != nil {
		return nil, err
	}
	if b, err = c.known(b, right); err != nil {
		return nil, err
	}
	result := boolean
	fits := b.typ == right
	switch name {
	case "->":
		result = b.typ
		fits = b.typ == text || b.typ == text|array
	case "-":
		result = hstore
		fits = b.typ == text || b.typ == text|array || b.typ == hstore
	}
	if !fits || a.typ != hstore {
		return nil, noOperator(name, a, b)
	}
	return strict(result, c.hstoreOp(a.val, name, b.val), a, b), nil
}
