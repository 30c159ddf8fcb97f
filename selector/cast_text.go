package selector

import (
	"math/big"

	"mbusproxy/selector/input"
)

// Casts of text to other types read what Postgres reads, but for forms that would need unbounded work, depend on
// a setting, or are known to some majors only: see docs/selectors.md. Each is a pattern and then the cast, which
// for a text of that form and length cannot fail.

const (
	maxInteger = 40 // bytes of the text of an integer
	maxNumber  = 60 // of another number
	maxTime    = 40
)

// White space is written as characters: a class would depend on the locale.
const (
	blank         = `[\t-\r ]*`
	integerRegexp = `E'^` + blank + `[-+]?[0-9]+` + blank + `$'`
	decimalRegexp = `E'^` + blank + `[-+]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][-+]?[0-9][0-9]?)?` + blank + `$'`
)

// dateRegexp knows how many days a month has, and which years are leap years.
const dateRegexp = `(?:[0-9][0-9][0-9][0-9]-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)` +
	`|(?:[0-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)`

const clockRegexp = `[ T](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9][0-9]?[0-9]?[0-9]?[0-9]?[0-9]?)?)?(?:Z|[-+](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?)?`

// asText marks a string of ours. Those with a backslash are written with E.
func asText(s string) string { return s + "::pg_catalog.text" }

func (c *compiler) shorter(v string, n int64) string {
	return op(call("octet_length", v), "<", c.number(int4, bigInt(n)))
}

// castText makes the casts of text. A value that is null while the text is not null is an error.
func (c *compiler) castText(e *expr, t typ) (*expr, bool) {
	out := strict(t, "", e)
	out.nulls = true
	switch t {
	case boolean:
		return c.textToBoolean(e), true
	case int2, int4, int8:
		out.val = c.textToInteger(e.val, t)
		c.bound(out)
	case numeric, float8:
		out.val = when(and(c.shorter(e.val, maxNumber), op(e.val, "~", asText(decimalRegexp))), c.cast(e.val, t))
		out.whole, out.scale, out.small, out.large = maxNumber+99, maxNumber+99, -maxNumber-99, maxNumber+99
	case date:
		out.val = when(isDate(c, e.val, dateRegexp), call("make_date", c.part(e.val, 1, 4), c.part(e.val, 6, 2), c.part(e.val, 9, 2)))
	case timestamp:
		seconds := "coalesce(" + c.cast(call("ltrim", call("substring", e.val, asText("':..(:[0-9.]+)'")), asText("':'")), float8) + ", '0'::pg_catalog.float8)"
		out.val = when(isDate(c, e.val, dateRegexp+"(?:"+clockRegexp+")?"), call("make_timestamp", c.part(e.val, 1, 4), c.part(e.val, 6, 2),
			c.part(e.val, 9, 2), c.part(e.val, 12, 2), c.part(e.val, 15, 2), seconds))
	default:
		return nil, false
	}
	if len(out.val) > maxCondition {
		out.val = out.val[:maxCondition+1] // sized refuses it
		return out, true
	}
	out.nulls = e.err == "" || e.nulls
	out = out.fails(and(isNotNull(e.val), isNull(out.val)), true)
	if e.err == "" {
		out.errNull = isNotNull(e.val)
	}
	return out, true
}

// textToInteger reads the number in a type that holds whatever fits into so few bytes, to see whether it is in range.
func (c *compiler) textToInteger(v string, t typ) string {
	wide, bytes := int8, int64(19)
	if t == int8 {
		wide, bytes = numeric, maxInteger
	}
	return when(and(c.shorter(v, bytes), op(v, "~", asText(integerRegexp)), c.inRange(c.cast(v, wide), wide, t)), c.cast(v, t))
}

func (c *compiler) textToBoolean(e *expr) *expr {
	word := call("lower", call("btrim", e.val, asText(`E' \t\n\x0B\f\r'`))+` collate pg_catalog."C"`)
	list := func(words ...[]string) string {
		s := ""
		for _, l := range words {
			for _, w := range l {
				s += "," + w
			}
		}
		return " any ('{" + s[1:] + "}'::pg_catalog.text[])"
	}
	short := c.shorter(e.val, maxNumber)
	out := strict(boolean, when(short, "("+word+" operator(pg_catalog.=)"+list(input.TrueWords())+")"), e)
	// For a text that is neither the value is false.
	known := and(short, word+" operator(pg_catalog.=)"+list(input.TrueWords(), input.FalseWords()))
	return out.fails("("+known+" is false)", false)
}

// isDate tells whether a text has the form of a date in a year that there is.
func isDate(c *compiler, v, form string) string {
	return and(c.shorter(v, maxTime), op(v, "~", asText("'^"+form+"$'")), op(call("substr", v, c.number(int4, bigInt(1)), c.number(int4, bigInt(4))), "<>", asText("'0000'")))
}

// part takes a number out of a text; what is not there is 0.
func (c *compiler) part(v string, from, length int64) string {
	return c.cast(op(asText("'0'"), "||", call("substr", v, c.number(int4, big.NewInt(from)), c.number(int4, big.NewInt(length)))), int4)
}
