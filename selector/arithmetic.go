package selector

import (
	"math/big"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// checkPrefix compiles an operator with one operand.
func (c *compiler) checkPrefix(n *pg_query.A_Expr, name string) (*expr, *Error) {
	at := offset(n.Location)
	e, err := c.check(n.Rexpr)
	if err != nil {
		return nil, err
	}
	if e.typ == unknown {
		if e, err = c.known(e, float8); err != nil {
			return nil, err
		}
	}
	switch {
	case !e.typ.isNumber() || name != "-" && name != "+" && name != "@":
		return nil, refuse(at, codeUndefinedFunction, hintOperators, "operator does not exist, or is not allowed in a selector: %s %s", name, e.typ)
	case name == "+":
		return e, nil
	case name == "@":
		return c.absolute(e)
	}
	return c.negative(e)
}

func (c *compiler) negative(e *expr) (*expr, *Error) {
	if e.lit != nil && !e.lit.null && e.lit.text[0] != '-' && e.typ != float8 {
		return c.literal(literal{text: "-" + trimPlus(e.lit.text)}, e.typ, e.at)
	}
	if !e.typ.isInt() {
		out := total(e.typ, "(operator(pg_catalog.-) "+e.val+")", e)
		out.whole, out.scale, out.small, out.large = e.whole, e.scale, e.small, e.large
		return out, nil
	}
	lo, hi := new(big.Int).Neg(e.hi), new(big.Int).Neg(e.lo)
	phys := physical(lo, hi)
	out := total(e.typ, "(operator(pg_catalog.-) "+c.widen(e, max(phys, e.phys))+")", e)
	out.phys = max(phys, e.phys)
	return c.integer(out, e.typ, lo, hi), nil
}

func trimPlus(s string) string {
	if s[0] == '+' {
		return s[1:]
	}
	return s
}

func (c *compiler) absolute(e *expr) (*expr, *Error) {
	if !e.typ.isInt() {
		out := total(e.typ, call("abs", e.val), e)
		out.whole, out.scale, out.small, out.large = e.whole, e.scale, e.small, e.large
		return out, nil
	}
	hi := new(big.Int).Abs(e.lo)
	if h := new(big.Int).Abs(e.hi); h.Cmp(hi) > 0 {
		hi = h
	}
	phys := max(physical(new(big.Int), hi), e.phys)
	out := total(e.typ, call("abs", c.widen(e, phys)), e)
	out.phys = phys
	return c.integer(out, e.typ, new(big.Int), hi), nil
}

// physical is the type in which integers between two bounds are computed.
func physical(lo, hi *big.Int) typ {
	if within(lo, hi, int8) {
		return int8
	}
	return numeric
}

// arithmetic makes + - * / %.
func (c *compiler) arithmetic(name string, a, b *expr) (*expr, *Error) {
	t, err := commonType("", []*expr{a, b})
	if err != nil || !t.isNumber() || name == "%" && t == float8 {
		return nil, noOperator(name, a, b)
	}
	if a, err = c.convert(a, t); err != nil {
		return nil, err
	}
	if b, err = c.convert(b, t); err != nil {
		return nil, err
	}
	switch {
	case t == float8:
		return c.floatArithmetic(name, a, b)
	case t == numeric:
		return c.numericArithmetic(name, a, b)
	case name == "/" || name == "%":
		return c.integerDivision(name, t, a, b)
	}
	var lo, hi *big.Int
	switch name {
	case "+":
		lo, hi = new(big.Int).Add(a.lo, b.lo), new(big.Int).Add(a.hi, b.hi)
	case "-":
		lo, hi = new(big.Int).Sub(a.lo, b.hi), new(big.Int).Sub(a.hi, b.lo)
	case "*":
		lo, hi = corners(a, b, (*big.Int).Mul)
	}
	phys := max(physical(lo, hi), a.phys, b.phys)
	if phys == numeric && digits(lo, hi) > maxDigits {
		return nil, refuse(a.at, codeTooComplex, hintNumbers, "a number could have more than %d digits here", maxDigits)
	}
	e := total(t, op(c.widen(a, phys), name, c.widen(b, phys)), a, b)
	e.phys = phys
	return c.integer(e, t, lo, hi), nil
}

// corners are the least and the greatest result of an operation at the bounds of its operands.
func corners(a, b *expr, f func(z, x, y *big.Int) *big.Int) (lo, hi *big.Int) {
	for _, x := range []*big.Int{a.lo, a.hi} {
		for _, y := range []*big.Int{b.lo, b.hi} {
			z := f(new(big.Int), x, y)
			if lo == nil || z.Cmp(lo) < 0 {
				lo = z
			}
			if hi == nil || z.Cmp(hi) > 0 {
				hi = z
			}
		}
	}
	return lo, hi
}

// divisorLimit is the greatest magnitude of a remainder.
func divisorLimit(b *expr) *big.Int {
	m := new(big.Int).Abs(b.lo)
	if h := new(big.Int).Abs(b.hi); h.Cmp(m) > 0 {
		m = h
	}
	if m.Sign() > 0 {
		m.Sub(m, big.NewInt(1))
	}
	return m
}

// divisor guards a division: zero becomes null, and an error unless the dividend is null.
func (c *compiler) divisor(a, b *expr, v string, t typ) (guarded, fails string) {
	zero := c.number(t, new(big.Int))
	return when(op(v, "<>", zero), v), isTrue(and(op(v, "=", zero), isNotNull(a.val)))
}

func (c *compiler) integerDivision(name string, t typ, a, b *expr) (*expr, *Error) {
	lo, hi := corners(a, b, func(z, x, y *big.Int) *big.Int {
		if name == "/" && y.Sign() != 0 && b.lo.Sign() == b.hi.Sign() {
			return z.Quo(x, y)
		}
		return z.Abs(x)
	})
	if name == "%" || b.lo.Sign() != b.hi.Sign() || b.lo.Sign() == 0 { // the result lies between minus and plus the dividend
		lo = new(big.Int).Neg(hi)
		if name == "%" {
			if m := divisorLimit(b); m.Cmp(hi) < 0 {
				lo, hi = new(big.Int).Neg(m), m
			}
			if a.lo.Sign() >= 0 {
				lo = new(big.Int)
			}
		}
	}
	phys := max(physical(lo, hi), a.phys, b.phys, int8)
	divisor, fails := c.widen(b, phys), ""
	if b.lo.Sign() <= 0 && b.hi.Sign() >= 0 && (b.lit == nil || !b.lit.null) {
		divisor, fails = c.divisor(a, b, divisor, phys)
	}
	written := op(c.widen(a, phys), name, divisor)
	if phys == numeric && name == "/" {
		written = call("div", c.widen(a, phys), divisor)
	}
	e := total(t, written, a, b)
	e.phys = phys
	if fails != "" {
		e.fails(fails, true)
	}
	return c.integer(e, t, lo, hi), nil
}

func (c *compiler) numericArithmetic(name string, a, b *expr) (*expr, *Error) {
	switch name {
	case "+", "-":
		return c.decimal(total(numeric, op(a.val, name, b.val), a, b), max(a.whole, b.whole)+1, max(a.scale, b.scale))
	case "*":
		return c.decimal(total(numeric, op(a.val, name, b.val), a, b), a.whole+b.whole, a.scale+b.scale)
	}
	divisor, fails := c.divisor(a, b, b.val, numeric)
	e := total(numeric, op(a.val, name, divisor), a, b).fails(fails, true)
	if name == "%" {
		return c.decimal(e, max(a.whole, b.whole), max(a.scale, b.scale))
	}
	// Postgres gives a quotient 16 significant digits, and after the point at least as many as its operands have.
	return c.decimal(e, a.whole+b.scale+1, max(a.scale, b.scale, 16+a.scale+b.whole+12))
}

func (c *compiler) floatArithmetic(name string, a, b *expr) (*expr, *Error) {
	e := total(float8, op(a.val, name, b.val), a, b)
	switch name {
	case "+", "-": // a difference that is not 0 is at least the last digit of one operand
		e.small, e.large = min(a.small, b.small)-18, max(a.large, b.large)+1
	case "*":
		e.small, e.large = a.small+b.small-1, a.large+b.large+1
	case "/":
		divisor, fails := c.divisor(a, b, b.val, float8)
		e = total(float8, op(a.val, name, divisor), a, b).fails(fails, true)
		e.small, e.large = a.small-b.large-1, a.large-b.small+1
	}
	return c.float(e)
}

// bits makes & | # of integers.
func (c *compiler) bits(name string, a, b *expr) (*expr, *Error) {
	t, err := commonType("", []*expr{a, b})
	if err != nil || !t.isInt() {
		return nil, noOperator(name, a, b)
	}
	args, err := c.alike(t, []*expr{a, b})
	if err != nil {
		return nil, err
	}
	phys := int8
	e := total(t, op(c.narrow(args[0], phys), name, c.narrow(args[1], phys)), a, b)
	e.phys = phys
	if !within(args[0].lo, args[0].hi, t) || !within(args[1].lo, args[1].hi, t) {
		t = int8 // an operand may be too great for its type, which is an error; the bits need bounds all the same
	}
	e.lo, e.hi = ranges[t].lo, ranges[t].hi
	return e, nil
}

// narrow writes an integer in a type that may be too small for it; then it is null.
func (c *compiler) narrow(e *expr, t typ) string {
	if e.phys <= t {
		return c.widen(e, t)
	}
	return c.as(e, t)
}
