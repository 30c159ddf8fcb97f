package selector

import "math/big"

// values writes arguments in the types of the signature.
func (c *compiler) values(f *function, args []*expr) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = c.as(a, f.args[i])
	}
	return out
}

func makeStrict(c *compiler, f *function, args []*expr) (*expr, *Error) {
	name := "pg_catalog."
	if f.hstore {
		name = c.env.written() + "."
	}
	vals := ""
	for _, v := range c.values(f, args) {
		vals += ", " + v
	}
	return strict(f.result, name+f.name+"("+vals[2:]+")", args...), nil
}

// makeText makes functions whose cost grows with the length of a text, and whose result is not longer, except where a
// letter has a capital of more bytes.
func makeText(c *compiler, f *function, args []*expr) (*expr, *Error) {
	for i := range args {
		args[i] = c.handled(args[i])
	}
	if f.name == "string_to_array" {
		return c.textCost(c.notStrictCall(f, args), f.name, args), nil
	}
	e := strict(f.result, call(f.name, c.values(f, args)...), args...)
	switch f.name {
	case "md5":
		e.size = 32
	case "lower", "upper", "initcap":
		e.size = 4 * args[0].size
	case "translate":
		e.size = args[0].size * max(4, 1)
	default:
		if f.result == text {
			e.size = args[0].size
		}
	}
	return c.composed(c.textCost(e, f.name, args))
}

// notStrictCall makes a call of a function that takes null for something else.
func (c *compiler) notStrictCall(f *function, args []*expr) *expr {
	return merge(f.result, call(f.name, c.values(f, args)...), args...).notStrict()
}

// makeLength makes functions with a number as result.
func makeLength(c *compiler, f *function, args []*expr) (*expr, *Error) {
	name := f.name
	if name == "position" {
		name = "strpos"
	}
	if name == "strpos" {
		args[0] = c.handled(args[0])
	}
	e := strict(int4, call(name, c.values(f, args)...), args...)
	e.lo, e.hi = new(big.Int), big.NewInt(1<<30)
	return c.textCost(e, name, args), nil
}

// makeSubstr: a negative length is an error.
func makeSubstr(c *compiler, f *function, args []*expr) (*expr, *Error) {
	args[0] = c.handled(args[0])
	vals := c.values(f, args)
	fails := ""
	if args[2].lo.Sign() < 0 {
		zero := c.number(int4, new(big.Int))
		fails = isTrue(and(op(vals[2], "<", zero), isNotNull(args[0].val), isNotNull(vals[1])))
		vals[2] = when(op(vals[2], ">=", zero), vals[2])
	}
	e := strict(text, call(f.name, vals...), args...)
	e.size = args[0].size
	if fails != "" {
		e.fails(fails, true)
	}
	return c.textCost(e, f.name, args), nil
}

// makeSplitPart: the first part is number one, the last one number minus one.
func makeSplitPart(c *compiler, f *function, args []*expr) (*expr, *Error) {
	args[0] = c.handled(args[0])
	vals := c.values(f, args)
	n := args[2]
	fails := ""
	if n.lo.Sign() <= 0 && n.hi.Sign() >= 0 {
		zero := c.number(int4, new(big.Int))
		fails = isTrue(and(op(vals[2], "=", zero), isNotNull(args[0].val), isNotNull(vals[1])))
		vals[2] = when(op(vals[2], "<>", zero), vals[2])
	}
	e := strict(text, call(f.name, vals...), args...)
	e.size = args[0].size
	if fails != "" {
		e.fails(fails, true)
	}
	return c.textCost(e, f.name, args), nil
}

func makeReplace(c *compiler, f *function, args []*expr) (*expr, *Error) {
	args[0] = c.handled(args[0])
	e := strict(text, call(f.name, c.values(f, args)...), args...)
	e.size = args[0].size * max(1, args[2].size)
	return c.composed(c.textCost(e, f.name, args))
}

// makeArrayLength takes arrays of any type.
func makeArrayLength(c *compiler, f *function, args []*expr) (*expr, *Error) {
	vals := []string{args[0].val}
	if len(args) > 1 {
		vals = append(vals, c.as(args[1], int4))
	}
	e := strict(int4, call(f.name, vals...), args...)
	e.lo, e.hi = new(big.Int), big.NewInt(1<<30)
	return e, nil
}
