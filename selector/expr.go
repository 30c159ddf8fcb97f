package selector

import (
	"math/big"
	"strings"
)

const unbounded = -1

// expr is what a part of the selector is compiled to.
//
// val never raises an error, whatever the message: where Postgres would raise one it is null, or any value. err
// says whether that is so; it is never null. Since neither raises, no order of evaluation and no folding of
// constants by the planner can do harm.
//
// To need no guard at each step, val may be of a wider type than typ (phys), and hold a value that is too great for
// typ where err is true. What it can be at most is known when the selector is compiled: the bounds below hold for
// each val, whatever err is.
type expr struct {
	typ, phys typ
	val       string
	err       string // "": never
	errNull   string // tells the same where val is null; "": err does
	nulls     bool   // val is null wherever err is true
	lit       *literal
	parts     []*expr // operands of an AND
	vars      bool    // it depends on the message
	collation string
	at        int

	lo, hi       *big.Int // of an integer
	whole, scale int      // of a numeric: digits before and after the point
	small, large int      // of a float8: it is 0, or its magnitude lies between 10^small and 10^large
	size         int      // of a text, in bytes, or unbounded; for an array that of an element
}

// literal is the value of a constant.
type literal struct {
	null  bool
	text  string // as in the selector, without quotes
	elems int    // of an array
	holes bool   // an element of the array is null
}

// or joins conditions of which none is ever null. "" is false.
func or(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	if len(out) < 2 {
		return strings.Join(out, "")
	}
	return "(" + strings.Join(out, " or ") + ")"
}

func and(parts ...string) string { return "(" + strings.Join(parts, " and ") + ")" }

// op writes an operator of pg_catalog.
func op(a, name, b string) string { return "(" + a + " operator(pg_catalog." + name + ") " + b + ")" }

// call writes a call of a function of pg_catalog.
func call(name string, args ...string) string {
	return "pg_catalog." + name + "(" + strings.Join(args, ", ") + ")"
}

func isNull(v string) string    { return "(" + v + " is null)" }
func isNotNull(v string) string { return "(" + v + " is not null)" }
func isTrue(v string) string    { return "(" + v + " is true)" }

// when writes a value that is null where a condition does not hold.
func when(cond, v string) string { return "(case when " + cond + " then " + v + " end)" }

// merge makes the result of something that evaluates all operands and raises no error of its own.
func merge(t typ, val string, args ...*expr) *expr {
	e := &expr{typ: t, phys: t, val: val, nulls: true, size: unbounded, at: args[0].at}
	errs := make([]string, 0, len(args))
	for _, a := range args {
		errs = append(errs, a.err)
		e.nulls = e.nulls && (a.err == "" || a.nulls)
		e.vars = e.vars || a.vars
	}
	e.err = or(errs...)
	if t.elem() == text {
		for _, a := range args {
			if a.collation != "" {
				e.collation = a.collation
			}
		}
	}
	return e
}

// strict is merge for operators and functions that give null where an operand is null. Where that is a constant
// Postgres evaluates none of them.
func strict(t typ, val string, args ...*expr) *expr {
	e := merge(t, val, args...)
	for _, a := range args {
		if a.lit != nil && a.lit.null {
			e.err, e.lit, e.vars = "", &literal{null: true}, false
		}
	}
	return e
}

// total is strict for an operation that gives null for null only. With one operand that may be null it is that
// which tells of errors.
func total(t typ, val string, args ...*expr) *expr {
	e := strict(t, val, args...)
	var variable *expr
	for _, a := range args {
		switch {
		case a.lit != nil && !a.lit.null:
		case variable != nil || a.lit != nil:
			return e
		default:
			variable = a
		}
	}
	if variable != nil {
		e.errNull = variable.errNull
	}
	return e
}

// fails adds a condition, never null, under which the operation itself raises an error; nulls tells whether its
// value is null then.
func (e *expr) fails(cond string, nulls bool) *expr {
	if e.lit != nil && e.lit.null {
		return e
	}
	e.err, e.errNull = or(e.err, cond), ""
	e.nulls = e.nulls && nulls
	return e
}

// notStrict says that the value may be anything where an error occurs.
func (e *expr) notStrict() *expr {
	e.nulls, e.errNull = e.err == "", ""
	return e
}

// compiler holds what is the same for a whole selector.
type compiler struct {
	env          Env
	hstoreSchema string // without quotes
	depth        int
	dear         map[string]cost // by the SQL of what costs something
	regexps      map[string]cost // by the expression: what compiling it takes, once
}

// sized refuses what has grown too long. Everything that is put together of parts passes through it.
func (c *compiler) sized(e *expr, err *Error) (*expr, *Error) {
	if err != nil {
		return nil, err
	}
	if len(e.val)+len(e.err) > maxCondition {
		return nil, tooComplex(e.at)
	}
	return e, nil
}

func tooComplex(at int) *Error {
	return refuse(at, codeTooComplex, hintShorter, "the selector is too complex")
}
