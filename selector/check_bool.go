package selector

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// truth compiles an operand that must be boolean.
func (c *compiler) truth(n *pg_query.Node, of string) (*expr, *Error) {
	e, err := c.check(n)
	if err != nil {
		return nil, err
	}
	return c.asTruth(e, of)
}

func (c *compiler) asTruth(e *expr, of string) (*expr, *Error) {
	e, err := c.known(e, boolean)
	if err == nil && e.typ != boolean {
		err = refuse(e.at, codeMismatch, "", "argument of %s must be type boolean, not type %s", of, e.typ)
	}
	return e, err
}

func (c *compiler) checkBool(b *pg_query.BoolExpr) (*expr, *Error) {
	of := strings.TrimSuffix(b.Boolop.String(), "_EXPR")
	args := make([]*expr, len(b.Args))
	for i, a := range b.Args {
		var err *Error
		if args[i], err = c.truth(a, of); err != nil {
			return nil, err
		}
	}
	switch b.Boolop {
	case pg_query.BoolExprType_NOT_EXPR:
		return not(args[0]), nil
	case pg_query.BoolExprType_AND_EXPR:
		return conjunction(args...), nil
	}
	return disjunction(args...), nil
}

func not(e *expr) *expr { return total(boolean, "(not "+e.val+")", e) }

func conjunction(args ...*expr) *expr {
	e := shortCut(" and ", "false", args)
	e.parts = args
	return e
}

func disjunction(args ...*expr) *expr { return shortCut(" or ", "true", args) }

// shortCut makes AND or OR, which evaluate one operand after another until one decides.
func shortCut(word, decides string, args []*expr) *expr {
	vals := make([]string, len(args))
	for i, a := range args {
		vals[i] = a.val
	}
	e := merge(boolean, "("+strings.Join(vals, word)+")", args...)
	e.err = shortCutErr(decides, args)
	// With a value there may be an error all the same: an operand that decides hides the null of
	// one before it that failed.
	for _, a := range args[:len(args)-1] {
		e.nulls = e.nulls && a.err == ""
	}
	return e
}

// shortCutErr is the condition that one of the operands that are evaluated fails.
func shortCutErr(decides string, args []*expr) string {
	err := ""
	for i := len(args) - 1; i >= 0; i-- {
		if err != "" {
			err = "(" + args[i].val + " is not " + decides + " and " + err + ")"
		}
		err = or(args[i].err, err)
	}
	return err
}

func (c *compiler) checkNullTest(n *pg_query.NullTest, at int) (*expr, *Error) {
	e, err := c.check(n.Arg)
	if err != nil {
		return nil, err
	}
	if e, err = c.known(e, text); err != nil {
		return nil, err
	}
	val := isNull(e.val)
	if n.Nulltesttype == pg_query.NullTestType_IS_NOT_NULL {
		val = isNotNull(e.val)
	}
	return merge(boolean, val, e).notStrict(), nil
}

func (c *compiler) checkBooleanTest(n *pg_query.BooleanTest) (*expr, *Error) {
	test := strings.ToLower(strings.ReplaceAll(n.Booltesttype.String(), "_", " "))
	e, err := c.truth(n.Arg, strings.ToUpper(test))
	if err != nil {
		return nil, err
	}
	return merge(boolean, "("+e.val+" "+test+")", e).notStrict(), nil
}
