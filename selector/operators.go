package selector

import (
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// checkOperator compiles whatever the grammar makes an operator of.
func (c *compiler) checkOperator(n *pg_query.A_Expr, at int) (*expr, *Error) {
	parts := nameList(n.Name)
	name := parts[len(parts)-1]
	schema := ""
	if len(parts) > 1 {
		schema = strings.Join(parts[:len(parts)-1], ".")
	}
	switch n.Kind {
	case pg_query.A_Expr_Kind_AEXPR_SIMILAR:
		return nil, refuse(at, codeNotSupported, "Use LIKE or ~.", "SIMILAR TO is not allowed in a selector")
	case pg_query.A_Expr_Kind_AEXPR_OP:
	default:
		schema = ""
	}
	if schema != "" && schema != "pg_catalog" && schema != c.hstoreSchema {
		return nil, refuse(at, codeUndefinedFunction, hintLanguage, "operator %s.%s is not allowed in a selector", schema, name)
	}
	if n.Lexpr == nil {
		return c.checkPrefix(n, name)
	}
	a, err := c.check(n.Lexpr)
	if err != nil {
		return nil, err
	}
	if list := n.Rexpr.GetList(); list != nil {
		args, err := c.checkAll(list.Items)
		if err != nil {
			return nil, err
		}
		if n.Kind == pg_query.A_Expr_Kind_AEXPR_IN {
			return c.in(a, args, name == "<>")
		}
		return c.between(n.Kind, a, args[0], args[1])
	}
	b, err := c.check(n.Rexpr)
	if err != nil {
		return nil, err
	}
	switch n.Kind {
	case pg_query.A_Expr_Kind_AEXPR_OP_ANY, pg_query.A_Expr_Kind_AEXPR_OP_ALL:
		return c.compareAny(name, a, b, n.Kind == pg_query.A_Expr_Kind_AEXPR_OP_ALL)
	case pg_query.A_Expr_Kind_AEXPR_DISTINCT, pg_query.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		return c.distinct(a, b, n.Kind == pg_query.A_Expr_Kind_AEXPR_NOT_DISTINCT)
	case pg_query.A_Expr_Kind_AEXPR_NULLIF:
		return c.checkNullIf(a, b)
	}
	if name == "!=" {
		name = "<>"
	}
	e, err := c.binary(name, a, b)
	if err == nil && schema != "" && (schema == c.hstoreSchema) != (a.typ == hstore && e.typ != unknown) && schema != "pg_catalog" {
		err = noOperator(schema+"."+name, a, b)
	}
	return e, err
}

func (c *compiler) binary(name string, a, b *expr) (*expr, *Error) {
	isHstore := a.typ == hstore || b.typ == hstore && name == "<@"
	switch {
	case isHstore && slices.Contains(hstoreOperators, name):
		return c.hstoreOperator(name, a, b)
	case isJSON(name, a, b):
		return c.jsonOperator(name, a, b)
	case slices.Contains(comparisons, name):
		return c.compare(name, a, b)
	case slices.Contains([]string{"+", "-", "*", "/", "%"}, name):
		return c.arithmetic(name, a, b)
	case slices.Contains([]string{"&", "|", "#"}, name):
		return c.bits(name, a, b)
	case name == "||":
		return c.concat(a, b)
	case slices.Contains(likes, name) || slices.Contains(regexps, name):
		return c.match(name, a, b)
	case name == "^@":
		return c.callNamed("starts_with", []*expr{a, b}, a.at)
	case name == "@>" || name == "<@" || name == "&&":
		return c.contains(name, a, b)
	}
	return nil, noOperator(name, a, b)
}

// between makes the four forms of BETWEEN, as Postgres does, of comparisons.
func (c *compiler) between(kind pg_query.A_Expr_Kind, a, low, high *expr) (*expr, *Error) {
	inside := func(low, high *expr) (*expr, *Error) {
		x, err := c.compare(">=", a, low)
		if err != nil {
			return nil, err
		}
		y, err := c.compare("<=", a, high)
		if err != nil {
			return nil, err
		}
		return conjunction(x, y), nil
	}
	outside := func(low, high *expr) (*expr, *Error) {
		x, err := c.compare("<", a, low)
		if err != nil {
			return nil, err
		}
		y, err := c.compare(">", a, high)
		if err != nil {
			return nil, err
		}
		return disjunction(x, y), nil
	}
	both := func(one func(low, high *expr) (*expr, *Error), join func(...*expr) *expr) (*expr, *Error) {
		x, err := one(low, high)
		if err != nil {
			return nil, err
		}
		y, err := one(high, low)
		if err != nil {
			return nil, err
		}
		return join(x, y), nil
	}
	switch kind {
	case pg_query.A_Expr_Kind_AEXPR_BETWEEN:
		return inside(low, high)
	case pg_query.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		return outside(low, high)
	case pg_query.A_Expr_Kind_AEXPR_BETWEEN_SYM:
		return both(inside, disjunction)
	}
	return both(outside, conjunction)
}

// concat makes a || b of texts.
func (c *compiler) concat(a, b *expr) (*expr, *Error) {
	var err *Error
	for _, e := range []**expr{&a, &b} {
		if *e, err = c.known(*e, text); err != nil {
			return nil, err
		}
	}
	if a.typ != text || b.typ != text {
		return nil, noOperator("||", a, b)
	}
	if err := sameCollation(a.at, a, b); err != nil {
		return nil, err
	}
	a, b = c.bounded(a), c.bounded(b)
	e := strict(text, op(a.val, "||", b.val), a, b)
	e.size = a.size + b.size
	return c.composed(c.costs(e, e.usual()))
}

const maxComposed = 16 << 20 // bytes of a text that is put together

// bounded bounds a text of any length.
func (c *compiler) bounded(e *expr) *expr {
	if e.size >= 0 {
		return e
	}
	return c.handled(e)
}

func (c *compiler) composed(e *expr) (*expr, *Error) {
	if e.size > maxComposed {
		return nil, refuse(e.at, codeTooComplex, hintShorter, "a text could become longer than %d MB here", maxComposed>>20)
	}
	return e, nil
}

// contains makes @>, <@ and && of arrays, of which one must be a constant: they compare each with each.
func (c *compiler) contains(name string, a, b *expr) (*expr, *Error) {
	var err *Error
	switch {
	case a.typ == unknown && b.typ.isArray():
		a, err = c.known(a, b.typ)
	case b.typ == unknown && a.typ.isArray():
		b, err = c.known(b, a.typ)
	}
	if err != nil {
		return nil, err
	}
	if !a.typ.isArray() || a.typ != b.typ {
		return nil, noOperator(name, a, b)
	}
	if (a.lit == nil || a.lit.elems > 100) && (b.lit == nil || b.lit.elems > 100) {
		return nil, refuse(a.at, codeNotSupported, "One of the arrays must be a constant of at most 100 elements.", "operator %s between such arrays is not allowed in a selector", name)
	}
	if err := sameCollation(a.at, a, b); err != nil {
		return nil, err
	}
	elems := 0
	for _, x := range []*expr{a, b} {
		if x.lit != nil {
			elems = max(elems, x.lit.elems)
		}
	}
	return c.costs(strict(boolean, op(a.val, name, b.val), a, b), 5*usualText*elems), nil
}
