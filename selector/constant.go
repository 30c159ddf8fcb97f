package selector

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/selector/input"
)

// constant compiles a constant as the parser of Postgres types it.
func (c *compiler) constant(k *pg_query.A_Const, at int) (*expr, *Error) {
	switch v := k.Val.(type) {
	case *pg_query.A_Const_Ival:
		return c.literal(literal{text: strconv.Itoa(int(v.Ival.Ival))}, int4, at)
	case *pg_query.A_Const_Fval:
		s := v.Fval.Fval
		if i, ok := new(big.Int).SetString(s, 10); ok && within(i, i, int4) { // the least int4 is not: its minus is an operator
			return c.literal(literal{text: s}, int4, at)
		} else if ok && within(i, i, int8) {
			return c.literal(literal{text: s}, int8, at)
		}
		if _, ok := new(big.Int).SetString(s, 0); ok && strings.ContainsAny(s, "xXoObB_") {
			return nil, refuse(at, codeNotSupported, "Write it with decimal digits.", "the number %s is not allowed in a selector", s)
		}
		return c.literal(literal{text: s}, numeric, at)
	case *pg_query.A_Const_Boolval:
		return c.literal(literal{text: strconv.FormatBool(v.Boolval.Boolval)}, boolean, at)
	case *pg_query.A_Const_Sval:
		return &expr{typ: unknown, lit: &literal{text: v.Sval.Sval}, at: at}, nil
	}
	if k.Isnull {
		return &expr{typ: unknown, lit: &literal{null: true}, at: at}, nil
	}
	return nil, refuse(at, codeNotSupported, hintConstant, "a bit string is not allowed in a selector")
}

// known gives a constant of unknown type the type t. Anything else stays as it is.
func (c *compiler) known(e *expr, t typ) (*expr, *Error) {
	if e.typ != unknown {
		return e, nil
	}
	return c.literal(*e.lit, t, e.at)
}

var (
	integerForm = regexp.MustCompile(`^[ \t\n\v\f\r]*[-+]?[0-9]+[ \t\n\v\f\r]*$`)
	decimalForm = regexp.MustCompile(`^[ \t\n\v\f\r]*[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,2})?[ \t\n\v\f\r]*$`)
)

// literal makes a constant of a type. What it reads is what casts from text read as well.
func (c *compiler) literal(l literal, t typ, at int) (*expr, *Error) {
	e := &expr{typ: t, phys: t, nulls: true, lit: &l, at: at, size: len(l.text), lo: new(big.Int), hi: new(big.Int), whole: 1}
	if l.null {
		e.val = "null::" + c.sql(t)
		return e, nil
	}
	if t.isArray() {
		return c.arrayLiteral(l, t, at)
	}
	invalid := func() (*expr, *Error) {
		return nil, refuse(at, codeInvalidText, "", "invalid input syntax for type %s: \"%s\"", t, l.text)
	}
	written := l.text
	switch t {
	case text:
		e.val = quote(l.text) + "::pg_catalog.text"
		return e, nil
	case boolean:
		b, ok := input.Boolean(l.text)
		if !ok {
			return invalid()
		}
		e.val = strconv.FormatBool(b)
		return e, nil
	case int2, int4, int8:
		if !integerForm.MatchString(l.text) {
			return invalid()
		}
		n, _ := new(big.Int).SetString(strings.Trim(l.text, " \t\n\v\f\r"), 10)
		if !within(n, n, t) {
			return nil, refuse(at, codeOutOfRange, "", "value \"%s\" is out of range for type %s", l.text, t)
		}
		e.lo, e.hi, l.text = n, n, n.String()
		e.val = c.number(t, n)
		return e, nil
	case numeric, float8:
		if !decimalForm.MatchString(l.text) || len(l.text) > maxNumber {
			return invalid()
		}
		written = strings.Trim(l.text, " \t\n\v\f\r")
		if t == float8 {
			f, err := strconv.ParseFloat(written, 64)
			if err != nil {
				return invalid()
			}
			if f != 0 {
				e.small, e.large = int(math.Floor(math.Log10(math.Abs(f))))-1, int(math.Ceil(math.Log10(math.Abs(f))))+1
			}
			break
		}
		e.whole, e.scale = numberShape(written)
	case date, timestamp:
		d, ok := input.Time(l.text, t == timestamp)
		if !ok {
			return nil, refuse(at, codeInvalidDate, hintISO, "invalid input syntax for type %s: \"%s\"", t, l.text)
		}
		written = d
	case hstore:
		h, ok := input.Hstore(l.text)
		if !ok {
			return invalid()
		}
		written = h
	case jsonb:
		return c.jsonLiteral(e)
	}
	l.text = written
	e.val = quote(written) + "::" + c.sql(t)
	return e, nil
}

// numberShape counts the digits of a number that has the form of decimalForm.
func numberShape(s string) (whole, scale int) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(strings.TrimLeft(s, "+-")), "e")
	before, after, _ := strings.Cut(mantissa, ".")
	n, _ := strconv.Atoi(exponent)
	return max(len(before)+n, 1), max(len(after)-n, 0)
}

// quote writes a string that reads the same whatever standard_conforming_strings is.
func quote(s string) string {
	q := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		q = "E" + strings.ReplaceAll(q, `\`, `\\`)
	}
	return q
}

const hintISO = "Dates and times are written as 2024-12-31 or 2024-12-31 23:59:59.999999, whatever DateStyle is."

const maxElements = 1000 // of an array that is a constant

// arrayLiteral reads the text of an array of one dimension, such as {a,"b c",NULL}.
func (c *compiler) arrayLiteral(l literal, t typ, at int) (*expr, *Error) {
	elems, ok := input.Array(l.text)
	if !ok || len(elems) > maxElements {
		return nil, refuse(at, codeInvalidText, "Write an array of one dimension, for example {a,b}.", "malformed array literal: \"%s\"", l.text)
	}
	args := make([]*expr, len(elems))
	for i, s := range elems {
		var err *Error
		if args[i], err = c.literal(literal{text: s.Text, null: s.Null}, t.elem(), at); err != nil {
			return nil, err
		}
	}
	return c.arrayOf(t.elem(), args, at), nil
}

// arrayOf makes an array of values of one type.
func (c *compiler) arrayOf(elem typ, args []*expr, at int) *expr {
	t := elem | array
	vals := make([]string, len(args))
	for i, a := range args {
		vals[i] = c.as(a, elem)
	}
	if len(args) == 0 {
		return &expr{typ: t, phys: t, val: "'{}'::" + c.sql(t), nulls: true, lit: &literal{}, at: at}
	}
	e := merge(t, "array["+strings.Join(vals, ", ")+"]::"+c.sql(t), args...).notStrict()
	constant, holes := true, false
	for _, a := range args {
		constant, holes = constant && a.lit != nil, holes || a.lit != nil && a.lit.null
	}
	if constant {
		e.lit = &literal{elems: len(args), holes: holes}
	}
	e.at = at
	return e
}
