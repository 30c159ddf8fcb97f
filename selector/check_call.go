package selector

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/selector/pattern"
)

const hintFunctions = "docs/selectors.md lists the functions that a selector may call."

func (c *compiler) checkCall(n *pg_query.FuncCall) (*expr, *Error) {
	at := offset(n.Location)
	parts := nameList(n.Funcname)
	name, shown := parts[len(parts)-1], strings.Join(parts, ".")
	if shown == "mbus4.payload" && len(n.Args) == 1 && columnName(n.Args[0]) == "t" && len(n.Args[0].GetColumnRef().GetFields()) == 1 {
		return c.columnNamed("payload", at) // as it is written elsewhere, in dyn_consume for example
	}
	switch {
	case n.Over != nil || windows[name]:
		return nil, refuse(at, codeWindowing, hintLanguage, "the window function %s is not allowed in a selector", shown)
	case n.AggStar || n.AggDistinct || n.AggFilter != nil || len(n.AggOrder) > 0 || n.AggWithinGroup || aggregates[name]:
		return nil, refuse(at, codeGrouping, hintLanguage, "the aggregate function %s is not allowed in a selector", shown)
	case sets[name]:
		return nil, refuse(at, codeNotSupported, "akeys(t.data) and avals(t.data) give arrays.", "the set-returning function %s is not allowed in a selector", shown)
	case changing[name]:
		return nil, refuse(at, codeNotImmutable, hintImmutable, "the function %s is not allowed in a selector, its result depends on more than its arguments", shown)
	}
	for _, a := range n.Args {
		if a.GetNamedArgExpr() != nil {
			return nil, refuse(at, codeNotSupported, "Give the arguments without names.", "an argument with a name is not allowed in a selector")
		}
	}
	schema := strings.Join(parts[:len(parts)-1], ".")
	known := func(f *function) bool {
		return f.name == name && (schema == "" || schema == "pg_catalog" && !f.hstore || schema == c.hstoreSchema && f.hstore)
	}
	found := name == "like_escape" && schema == "pg_catalog"
	for i := range functions {
		found = found || known(&functions[i])
	}
	if !found || n.FuncVariadic {
		return nil, refuse(at, codeUndefinedFunction, hintFunctions, "the function %s is not allowed in a selector", shown)
	}
	args, err := c.checkAll(n.Args)
	if err != nil {
		return nil, err
	}
	if name == "like_escape" {
		return c.escaped(args, at)
	}
	return c.callNamed(name, args, at)
}

// callNamed makes a call of a function of the list.
func (c *compiler) callNamed(name string, args []*expr, at int) (*expr, *Error) {
	for i := range functions {
		f := &functions[i]
		if f.name != name || len(f.args) != len(args) {
			continue
		}
		given := append([]*expr{}, args...)
		for i, want := range f.args {
			var err *Error
			if want == anyNumber {
				given[i], err = c.known(given[i], float8)
			} else if !f.takes(i, given[i].typ) {
				given[i], err = c.convert(given[i], want)
			}
			if err != nil && err.Code == codeMismatch || err == nil && want == anyNumber && !given[i].typ.isNumber() {
				return nil, noFunction(name, args, at)
			}
			if err != nil {
				return nil, err
			}
			if f.constant != nil && f.constant[i] && given[i].lit == nil {
				return nil, refuse(given[i].at, codeNotSupported, hintConstant, "argument %d of the function %s must be a constant in a selector", i+1, name)
			}
		}
		if err := sameCollation(at, given...); err != nil {
			return nil, err
		}
		return f.make(c, f, given)
	}
	return nil, noFunction(name, args, at)
}

// takes reports whether the function has a variant with an argument of this type.
func (f *function) takes(arg int, t typ) bool {
	switch f.args[arg] {
	case text | array:
		return f.result == int4 && t.isArray()
	case timestamp:
		return f.name == "extract" && t == date
	}
	return false
}

func noFunction(name string, args []*expr, at int) *Error {
	types := make([]string, len(args))
	for i, a := range args {
		types[i] = a.typ.String()
	}
	return refuse(at, codeUndefinedFunction, hintFunctions, "the function %s(%s) does not exist, or is not allowed in a selector", name, strings.Join(types, ", "))
}

// escaped is the pattern of LIKE … ESCAPE.
func (c *compiler) escaped(args []*expr, at int) (*expr, *Error) {
	for _, a := range args {
		if a.typ != unknown || a.lit.null {
			return nil, refuse(at, codeNotSupported, hintConstant, "a pattern that is no constant is not allowed in a selector")
		}
	}
	p, refused := pattern.Escape(args[0].lit.text, args[1].lit.text)
	if refused != nil {
		return nil, refusePattern(at, refused)
	}
	return &expr{typ: unknown, lit: &literal{text: p}, at: at}, nil
}
