package selector

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// commonType is what the branches of a CASE and the like become: the type of the first, or one to which it can be
// converted.
func commonType(of string, args []*expr) (typ, *Error) {
	t := unknown
	for _, a := range args {
		switch {
		case a.typ == unknown || a.typ == t:
		case t == unknown:
			t = a.typ
		case t.isNumber() && a.typ.isNumber() || t.isTime() && a.typ.isTime():
			t = max(t, a.typ)
		default:
			return 0, refuse(a.at, codeMismatch, hintCast, "%s types %s and %s cannot be matched", of, t, a.typ)
		}
	}
	if t == unknown {
		t = text
	}
	return t, nil
}

// alike converts values to one type, and integers to one physical type (see expr) as well.
func (c *compiler) alike(t typ, args []*expr) ([]*expr, *Error) {
	out := make([]*expr, len(args))
	for i, a := range args {
		var err *Error
		if out[i], err = c.convert(a, t); err != nil {
			return nil, err
		}
	}
	if !t.isInt() {
		return out, nil
	}
	phys := max(widest(out...), t)
	for i, a := range out {
		b := *a
		b.val, b.phys = c.widen(a, phys), phys
		out[i] = &b
	}
	return out, nil
}

// oneOf makes a value that is one of several of the same type.
func oneOf(t typ, val string, args ...*expr) *expr {
	e := merge(t, val, args...)
	first := args[0]
	e.phys, e.lo, e.hi, e.whole, e.scale, e.small, e.large, e.size = first.phys, first.lo, first.hi, first.whole, first.scale, first.small, first.large, first.size
	for _, a := range args[1:] {
		if t.isInt() {
			if a.lo.Cmp(e.lo) < 0 {
				e.lo = a.lo
			}
			if a.hi.Cmp(e.hi) > 0 {
				e.hi = a.hi
			}
		}
		e.whole, e.scale = max(e.whole, a.whole), max(e.scale, a.scale)
		e.small, e.large = min(e.small, a.small), max(e.large, a.large)
		if e.size >= 0 && (a.size < 0 || a.size > e.size) {
			e.size = a.size
		}
	}
	return e.notStrict()
}

// checkCase compiles both forms of CASE. In the one with an operand each WHEN is a comparison with it.
func (c *compiler) checkCase(n *pg_query.CaseExpr) (*expr, *Error) {
	var operand *expr
	var err *Error
	if n.Arg != nil {
		if operand, err = c.check(n.Arg); err != nil {
			return nil, err
		}
		if operand, err = c.known(operand, text); err != nil {
			return nil, err
		}
	}
	var conditions, results []*expr
	for _, w := range n.Args {
		when := w.GetCaseWhen()
		var cond *expr
		if operand == nil {
			cond, err = c.truth(when.Expr, "CASE/WHEN")
		} else if cond, err = c.check(when.Expr); err == nil {
			cond, err = c.sized(c.compare("=", withoutErr(operand), cond))
		}
		if err != nil {
			return nil, err
		}
		result, err := c.check(when.Result)
		if err != nil {
			return nil, err
		}
		conditions, results = append(conditions, cond), append(results, result)
	}
	otherwise := &expr{typ: unknown, lit: &literal{null: true}}
	if n.Defresult != nil {
		if otherwise, err = c.check(n.Defresult); err != nil {
			return nil, err
		}
	}
	// Postgres looks at the ELSE first.
	all := append([]*expr{otherwise}, results...)
	t, err := commonType("CASE", all)
	if err != nil {
		return nil, err
	}
	if all, err = c.alike(t, all); err != nil {
		return nil, err
	}
	if err := sameCollation(all[0].at, all...); err != nil {
		return nil, err
	}
	val, fail, mayFail := "(case", "(case", all[0].err != ""
	for i, cond := range conditions {
		if cond.err != "" {
			fail += " when " + cond.err + " then true"
		}
		val += " when " + cond.val + " then " + all[i+1].val
		fail += " when " + cond.val + " then " + orFalse(all[i+1].err)
		mayFail = mayFail || cond.err != "" || all[i+1].err != ""
		if len(val)+len(fail) > maxCondition {
			return nil, tooComplex(cond.at)
		}
	}
	e := oneOf(t, val+" else "+all[0].val+" end)", all...)
	e.err = ""
	if mayFail {
		e.err = fail + " else " + orFalse(all[0].err) + " end)"
	}
	for _, cond := range conditions {
		e.vars = e.vars || cond.vars
	}
	if operand != nil {
		e.vars = e.vars || operand.vars
		e.err = or(operand.err, e.err)
	}
	return e.notStrict(), nil
}

func withoutErr(e *expr) *expr {
	out := *e
	out.err, out.nulls = "", true
	return &out
}

func orFalse(err string) string {
	if err == "" {
		return "false"
	}
	return err
}

func (c *compiler) checkAll(nodes []*pg_query.Node) ([]*expr, *Error) {
	out := make([]*expr, len(nodes))
	for i, n := range nodes {
		var err *Error
		if out[i], err = c.check(n); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// same compiles expressions that must have one type.
func (c *compiler) same(of string, nodes []*pg_query.Node, at int) (typ, []*expr, *Error) {
	args, err := c.checkAll(nodes)
	if err != nil {
		return 0, nil, err
	}
	t, err := commonType(of, args)
	if err != nil {
		return 0, nil, err
	}
	if args, err = c.alike(t, args); err != nil {
		return 0, nil, err
	}
	return t, args, sameCollation(at, args...)
}

// checkCoalesce: each argument is evaluated only where those before it are null.
func (c *compiler) checkCoalesce(n *pg_query.CoalesceExpr, at int) (*expr, *Error) {
	t, args, err := c.same("COALESCE", n.Args, at)
	if err != nil {
		return nil, err
	}
	vals, fail := "", ""
	for i := len(args) - 1; i >= 0; i-- {
		vals = ", " + args[i].val + vals
		if fail != "" {
			fail = and(isNull(args[i].val), fail)
		}
		fail = or(args[i].err, fail)
	}
	e := oneOf(t, "coalesce("+vals[2:]+")", args...)
	e.err = fail
	return e.notStrict(), nil
}

func (c *compiler) checkGreatest(n *pg_query.MinMaxExpr, at int) (*expr, *Error) {
	word := "greatest"
	if n.Op == pg_query.MinMaxOp_IS_LEAST {
		word = "least"
	}
	t, args, err := c.same("GREATEST", n.Args, at)
	if err != nil {
		return nil, err
	}
	if t.holds() || t.isArray() {
		return nil, refuse(at, codeMismatch, "", "%s of type %s is not allowed in a selector", word, t)
	}
	vals := ""
	for i, a := range args {
		args[i] = c.handled(a)
		vals += ", " + args[i].val
	}
	return oneOf(t, word+"("+vals[2:]+")", args...), nil
}

// checkNullIf: NULLIF(a, b) is a where a = b does not hold.
func (c *compiler) checkNullIf(a, b *expr) (*expr, *Error) {
	eq, err := c.compare("=", a, b)
	if err != nil {
		return nil, err
	}
	t, err := commonType("NULLIF", []*expr{a, b})
	if err != nil {
		return nil, err
	}
	if t.isInt() && a.typ.isInt() {
		t = a.typ // integers of different sizes are compared without a conversion
	}
	if a, err = c.convert(a, t); err != nil {
		return nil, err
	}
	if a.lit != nil && a.lit.null || b.lit != nil && b.lit.null {
		return a, nil // and b is not evaluated
	}
	e := oneOf(t, "(case when "+eq.val+" is not true then "+a.val+" end)", a)
	e.err, e.vars = eq.err, a.vars || b.vars
	return e.notStrict(), nil
}

// checkArray compiles ARRAY[…].
func (c *compiler) checkArray(n *pg_query.A_ArrayExpr, at int) (*expr, *Error) {
	if len(n.Elements) == 0 {
		return nil, refuse(at, "42P18", "Write '{}'::text[].", "cannot determine type of empty array")
	}
	t, args, err := c.same("ARRAY", n.Elements, at)
	if err != nil {
		return nil, err
	}
	if t.isArray() || t.holds() || len(args) > maxElements {
		return nil, refuse(at, codeNotSupported, hintTypes, "an array of %s is not allowed in a selector", t)
	}
	e := c.arrayOf(t, args, at)
	return e, nil
}
