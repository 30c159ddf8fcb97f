package selector

import (
	"math/big"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

const hintCasts = "docs/selectors.md lists the casts. Compare a text with text, or a number with a number."

func (c *compiler) checkCast(n *pg_query.TypeCast) (*expr, *Error) {
	t, mods, err := c.typeOf(n.TypeName)
	if err != nil {
		return nil, err
	}
	if a := n.Arg.GetAArrayExpr(); a != nil && len(a.Elements) == 0 && t.isArray() {
		return c.arrayOf(t.elem(), nil, place(n.Arg)), nil
	}
	e, err := c.check(n.Arg)
	if err != nil {
		return nil, err
	}
	e, err = c.castTo(e, t)
	if err != nil || len(mods) == 0 {
		return e, err
	}
	if e.typ == text {
		return c.castLength(e, mods, offset(n.TypeName.Location))
	}
	return c.castPrecision(e, mods, offset(n.TypeName.Location))
}

// castTo makes an explicit cast.
func (c *compiler) castTo(e *expr, t typ) (*expr, *Error) {
	from := e.typ
	switch {
	case from == unknown:
		return c.known(e, t)
	case from == t:
		return e, nil
	case from.isArray() && t.isArray() && e.lit != nil && from.elem().isInt() && t.elem().isInt() && t > from:
		return c.recast(e, t), nil
	case from.isArray() || t.isArray():
	case from == text:
		if e, ok := c.castText(e, t); ok {
			return e, nil
		}
	case t == text:
		if e, ok := c.toText(e); ok {
			return e, nil
		}
	case from.isNumber() && t.isNumber():
		return c.castNumber(e, t)
	case from == boolean && t == int4:
		out := strict(int4, c.cast(e.val, int4), e)
		out.lo, out.hi = new(big.Int), big.NewInt(1)
		return out, nil
	case from == int4 && t == boolean:
		return strict(boolean, op(e.val, "<>", c.number(e.phys, new(big.Int))), e), nil
	case from == date && t == timestamp:
		return c.toTimestamp(e), nil
	case from == timestamp && t == date:
		return strict(date, c.cast(e.val, date), e), nil
	}
	return nil, refuse(e.at, codeCannotCoerce, hintCasts, "a cast from %s to %s is not allowed in a selector", from, t)
}

func (c *compiler) recast(e *expr, t typ) *expr {
	out := *e
	out.typ, out.phys, out.val = t, t, c.cast(e.val, t)
	return &out
}

// toText makes the casts to text whose result no setting changes.
func (c *compiler) toText(e *expr) (*expr, bool) {
	out := strict(text, c.cast(e.val, text), e)
	switch {
	case e.typ.isInt():
		out.size = digits(e.lo, e.hi) + 1
	case e.typ == numeric:
		out.size = e.whole + e.scale + 3
	case e.typ == boolean:
		out.size = len("false")
	default:
		return nil, false
	}
	return out, true
}

func (c *compiler) castNumber(e *expr, t typ) (*expr, *Error) {
	switch {
	case t == float8:
		return c.toFloat(e)
	case e.typ == float8 && t == numeric: // Postgres keeps 15 significant digits
		return c.decimal(strict(numeric, c.cast(e.val, numeric), e), max(e.large, 0)+2, max(16-e.small, 0))
	case e.typ == float8:
		return c.floatToInteger(e, t), nil
	case t == numeric:
		return c.toNumeric(e), nil
	case e.typ == numeric:
		hi := power10(e.whole + 1)
		return c.integer(strictAs(t, numeric, roundedTo("round", e.val, 0), e), t, new(big.Int).Neg(hi), hi), nil
	}
	if e.lit != nil && !e.lit.null && !within(e.lo, e.hi, t) {
		return nil, refuse(e.at, codeOutOfRange, "", "%s out of range", t)
	}
	out := strictAs(t, e.phys, e.val, e)
	if e.lit != nil && !e.lit.null {
		out.lit = e.lit
	}
	return c.integer(out, t, e.lo, e.hi), nil
}

// strictAs is strict for a value that is written in another type.
func strictAs(t, phys typ, val string, args ...*expr) *expr {
	e := strict(t, val, args...)
	e.phys = phys
	return e
}

// floatToInteger: Postgres rounds a half to the even neighbour, so the bounds lie at halves.
func (c *compiler) floatToInteger(e *expr, t typ) *expr {
	low, high := map[typ]string{int2: "-32768.5", int4: "-2147483648.5", int8: "-9223372036854775808"}[t],
		map[typ]string{int2: "32767.5", int4: "2147483647.5", int8: "9223372036854775808"}[t]
	fits := and(op(e.val, ">=", "'"+low+"'::pg_catalog.float8"), op(e.val, "<", "'"+high+"'::pg_catalog.float8"))
	out := strict(t, when(fits, c.cast(e.val, t)), e).fails("("+fits+" is false)", true)
	c.bound(out)
	return out
}

// castLength is varchar(n), which cuts what is longer.
func (c *compiler) castLength(e *expr, mods []int, at int) (*expr, *Error) {
	if len(mods) != 1 || mods[0] < 1 || mods[0] > 10485760 {
		return nil, refuse(at, codeInvalidText, "", "length for type varchar must be between 1 and 10485760")
	}
	out := strict(text, call("left", e.val, c.number(int4, bigInt(int64(mods[0])))), e)
	out.size = e.size
	return out, nil
}

// castPrecision is numeric(precision, scale), which rounds.
func (c *compiler) castPrecision(e *expr, mods []int, at int) (*expr, *Error) {
	precision, scale := mods[0], 0
	if len(mods) > 1 {
		scale = mods[1]
	}
	if precision < 1 || precision > 100 || scale < 0 || scale > precision || len(mods) > 2 {
		return nil, refuse(at, codeNotSupported, "", "NUMERIC precision %d and scale %d are not allowed in a selector", precision, scale)
	}
	out := strict(numeric, roundedTo("round", e.val, scale), e)
	limit := "'1e" + bigInt(int64(precision-scale)).String() + "'::pg_catalog.numeric"
	return c.decimal(out.fails(isTrue(op(call("abs", out.val), ">=", limit)), false), e.whole+1, scale)
}
