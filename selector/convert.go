package selector

// convert applies the implicit conversions: constants of unknown type to any, integers to wider numbers, numbers to
// double precision, dates to timestamps.
func (c *compiler) convert(e *expr, t typ) (*expr, *Error) {
	switch {
	case e.typ == t:
		return e, nil
	case e.typ == unknown:
		return c.known(e, t)
	case e.typ.isInt() && t.isInt() && e.typ < t:
		out := *e
		out.typ = t
		return &out, nil
	case e.typ.isInt() && t == numeric:
		return c.toNumeric(e), nil
	case e.typ.isNumber() && t == float8:
		return c.toFloat(e)
	case e.typ == date && t == timestamp:
		return c.toTimestamp(e), nil
	}
	return nil, refuse(e.at, codeMismatch, hintCast, "%s is no %s", e.typ, t)
}

// implicit converts an argument of something.
func (c *compiler) implicit(e *expr, t typ, what string) (*expr, *Error) {
	out, err := c.convert(e, t)
	if err != nil && err.Code == codeMismatch {
		err.Message = what + " must be of type " + t.String() + ", not " + e.typ.String()
	}
	return out, err
}

func (c *compiler) toTimestamp(e *expr) *expr {
	out := *e
	out.typ, out.phys, out.lit = timestamp, timestamp, nil
	out.val = c.cast(e.val, timestamp)
	return &out
}

const maxHandled = 64 << 10 // bytes of a text that functions and operators handle

// handled bounds the length of a text for a function whose time or memory grows with it.
func (c *compiler) handled(e *expr) *expr {
	if e.typ != text || e.size >= 0 && e.size <= maxHandled {
		return e
	}
	length := call("octet_length", e.val)
	limit := c.number(int4, bigInt(maxHandled))
	out := *e
	out.val = when(op(length, "<=", limit), e.val)
	out.size = maxHandled
	return out.fails(isTrue(op(length, ">", limit)), true)
}
