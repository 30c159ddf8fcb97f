package selector

import "math/big"

const maxDigits = 1000 // of a number that is computed, counted before it is known

func pow2(n uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), n) }

// ranges of the integers.
var ranges = map[typ]struct{ lo, hi *big.Int }{
	int2: {new(big.Int).Neg(pow2(15)), new(big.Int).Sub(pow2(15), big.NewInt(1))},
	int4: {new(big.Int).Neg(pow2(31)), new(big.Int).Sub(pow2(31), big.NewInt(1))},
	int8: {new(big.Int).Neg(pow2(63)), new(big.Int).Sub(pow2(63), big.NewInt(1))},
}

func within(lo, hi *big.Int, t typ) bool {
	return lo.Cmp(ranges[t].lo) >= 0 && hi.Cmp(ranges[t].hi) <= 0
}

// digits is the number of decimal digits that a value between two bounds has at most.
func digits(lo, hi *big.Int) int {
	return max(len(new(big.Int).Abs(lo).String()), len(new(big.Int).Abs(hi).String()))
}

func power10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// bound notes what is known of a value that may be any of its type, as one out of a column is.
func (c *compiler) bound(e *expr) {
	if r, ok := ranges[e.typ]; ok {
		e.lo, e.hi = r.lo, r.hi
	}
}

// integer makes an integer of type t whose value lies between lo and hi. Where that is more than t holds the value
// stays as it is, and an error is noted.
func (c *compiler) integer(e *expr, t typ, lo, hi *big.Int) *expr {
	e.typ, e.lo, e.hi = t, lo, hi
	if within(lo, hi, t) {
		return e
	}
	return e.fails("("+c.inRange(e.val, e.phys, t)+" is false)", false)
}

// inRange tells whether an integer fits into a type, by a form that mentions it only once and overflows for no value.
// It is no range operator: Postgres 17 simplifies these, and fails with "no relation entry for relid" where the value
// holds = any (array).
func (c *compiler) inRange(v string, phys, t typ) string {
	bits := int64(ranges[t].hi.BitLen())
	if phys == numeric { // -2^n <= v < 2^n is |2v + 1| < 2^(n+1)
		limit := c.number(numeric, pow2(uint(bits+1)))
		return op(call("abs", op(op(v, "*", c.number(numeric, bigInt(2))), "+", c.number(numeric, bigInt(1)))), "<", limit)
	}
	if phys != int8 {
		v = c.cast(v, int8)
	}
	// What is left without the lower bits is 0 or -1.
	one, zero := c.number(int8, bigInt(1)), c.number(int8, bigInt(0))
	return op(op(op(op(v, ">>", bigInt(bits).String()), "+", one), ">>", "1"), "=", zero)
}

// number writes an integer. The server reads one that is short and has no sign as int4.
func (c *compiler) number(t typ, n *big.Int) string {
	if t == int4 && n.Sign() >= 0 {
		return n.String()
	}
	return "'" + n.String() + "'::" + c.sql(t)
}

// cast writes the value in a wider type.
func (c *compiler) cast(v string, t typ) string { return "(" + v + ")::" + c.sql(t) }

// widen writes an integer in another type that holds all its values.
func (c *compiler) widen(e *expr, t typ) string {
	switch {
	case e.phys == t:
		return e.val
	case e.lit != nil && !e.lit.null:
		return c.number(t, e.lo)
	}
	return c.cast(e.val, t)
}

// as writes the value in exactly the type t, which is its own. A value that is not of the type (then there was an
// error) becomes null.
func (c *compiler) as(e *expr, t typ) string {
	if e.phys == t || !t.isInt() {
		return e.val
	}
	if e.lit != nil || within(e.lo, e.hi, t) {
		return c.widen(e, t)
	}
	return when(c.inRange(e.val, e.phys, t), c.cast(e.val, t))
}

// widest is a type in which all of some integers can be written.
func widest(args ...*expr) typ {
	t := int4
	for _, a := range args {
		t = max(t, a.phys)
	}
	return t
}

// toNumeric converts an integer.
func (c *compiler) toNumeric(e *expr) *expr {
	if e.typ == numeric {
		return e
	}
	out := *e
	out.typ, out.phys, out.val = numeric, numeric, c.widen(e, numeric)
	out.whole, out.scale = digits(e.lo, e.hi), 0
	return &out
}

// toFloat converts an integer or numeric.
func (c *compiler) toFloat(e *expr) (*expr, *Error) {
	if e.typ == float8 {
		return e, nil
	}
	if e.lit != nil {
		return c.literal(*e.lit, float8, e.at)
	}
	out := *e
	out.typ, out.phys, out.val = float8, float8, c.cast(e.val, float8)
	out.small, out.large = 0, e.whole
	if e.typ == numeric {
		out.small = -e.scale
	} else {
		out.large = digits(e.lo, e.hi)
	}
	return c.float(&out)
}

const maxExponent = 300 // of a float8 that is computed: none comes near to what raises an error

func (c *compiler) float(e *expr) (*expr, *Error) {
	if e.small < -maxExponent || e.large > maxExponent {
		return nil, refuse(e.at, codeTooComplex, hintNumbers, "a number of type double precision could become greater than 1e%d here, or less than 1e-%d", maxExponent, maxExponent)
	}
	e.typ, e.phys = float8, float8
	return e, nil
}

func (c *compiler) decimal(e *expr, whole, scale int) (*expr, *Error) {
	if whole+scale > maxDigits {
		return nil, refuse(e.at, codeTooComplex, hintNumbers, "a number could have more than %d digits here", maxDigits)
	}
	e.typ, e.phys, e.whole, e.scale = numeric, numeric, whole, scale
	return e, nil
}

const hintNumbers = "Cast to integer in between, or compute with fewer factors."

func bigInt(n int64) *big.Int { return big.NewInt(n) }
