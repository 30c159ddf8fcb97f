package selector

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
)

func makeAbs(c *compiler, _ *function, args []*expr) (*expr, *Error) { return c.absolute(args[0]) }

func makeMod(c *compiler, f *function, args []*expr) (*expr, *Error) {
	if args[0].typ == float8 || args[1].typ == float8 {
		return nil, noFunction(f.name, args, args[0].at)
	}
	return c.arithmetic("%", args[0], args[1])
}

// makeRound makes functions of a numeric or double precision; integers become the latter.
func makeRound(c *compiler, f *function, args []*expr) (*expr, *Error) {
	a := args[0]
	if a.typ.isInt() {
		var err *Error
		if a, err = c.toFloat(a); err != nil {
			return nil, err
		}
	}
	if a.typ == numeric {
		written := call(f.name, a.val)
		if f.name == "round" || f.name == "trunc" {
			written = roundedTo(f.name, a.val, 0)
		}
		return c.decimal(strict(numeric, written, a), a.whole+1, 0)
	}
	e := strict(a.typ, call(f.name, a.val), a)
	e.small, e.large = 0, max(a.large, 1)
	return c.float(e)
}

// roundedTo rounds a numeric. The functions with one argument are SQL, which the planner of Postgres 17 puts into the
// statement before it can tell the cost of an argument that holds = any (array): "no relation entry for relid".
func roundedTo(function, v string, scale int) string { return call(function, v, strconv.Itoa(scale)) }

// makeScale makes round and trunc with a number of digits.
func makeScale(c *compiler, f *function, args []*expr) (*expr, *Error) {
	n := args[1]
	if n.lo.CmpAbs(big.NewInt(100)) > 0 {
		return nil, refuse(n.at, codeOutOfRange, "", "argument 2 of the function %s must be between -100 and 100 in a selector", f.name)
	}
	e := strict(numeric, call(f.name, c.values(f, args)...), args...)
	return c.decimal(e, args[0].whole+1, max(0, int(n.lo.Int64())))
}

// fields of a timestamp and the digits that they have.
var fields = map[string]int{
	"year": 6, "month": 2, "day": 2, "hour": 2, "minute": 2, "second": 2, "dow": 1, "isodow": 1, "doy": 3, "week": 2, "quarter": 1, "epoch": 13,
}

// makeExtract makes EXTRACT. An infinite time counts as an error.
func makeExtract(c *compiler, f *function, args []*expr) (*expr, *Error) {
	name := strings.ToLower(args[0].lit.text)
	field, ok := fields[name]
	if args[1].typ == date && (name == "hour" || name == "minute" || name == "second") {
		ok = false // a date has none
	}
	if !ok {
		var all []string
		for name := range fields {
			all = append(all, name)
		}
		slices.Sort(all)
		return nil, refuse(args[0].at, codeNotSupported, "The fields are "+strings.Join(all, ", ")+".", "the field %s is not allowed in a selector", strconv.Quote(args[0].lit.text))
	}
	x := args[1]
	finite := call("isfinite", x.val)
	e := strict(f.result, when(finite, call(f.name, args[0].val, x.val)), args...)
	e.fails("("+finite+" is false)", true)
	if f.result == float8 {
		e.small, e.large = -7, field
		return c.float(e)
	}
	return c.decimal(e, field, 6)
}
