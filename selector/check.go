package selector

import (
	"fmt"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// check compiles a node of the syntax tree, in the order in which Postgres would evaluate it, so that a refusal
// names the first thing that is not allowed.
func (c *compiler) check(n *pg_query.Node) (*expr, *Error) {
	at := place(n)
	if c.depth++; c.depth > maxDepth {
		return nil, tooComplex(at)
	}
	defer func() { c.depth-- }()
	e, err := c.sized(c.checkNode(n, at))
	if err == nil {
		e.at = at
	}
	return e, err
}

func (c *compiler) checkNode(n *pg_query.Node, at int) (*expr, *Error) {
	switch x := n.GetNode().(type) {
	case *pg_query.Node_AConst:
		return c.constant(x.AConst, at)
	case *pg_query.Node_ColumnRef:
		return c.column(x.ColumnRef, at)
	case *pg_query.Node_AExpr:
		return c.checkOperator(x.AExpr, at)
	case *pg_query.Node_BoolExpr:
		return c.checkBool(x.BoolExpr)
	case *pg_query.Node_TypeCast:
		return c.checkCast(x.TypeCast)
	case *pg_query.Node_FuncCall:
		return c.checkCall(x.FuncCall)
	case *pg_query.Node_NullTest:
		return c.checkNullTest(x.NullTest, at)
	case *pg_query.Node_BooleanTest:
		return c.checkBooleanTest(x.BooleanTest)
	case *pg_query.Node_CaseExpr:
		return c.checkCase(x.CaseExpr)
	case *pg_query.Node_CoalesceExpr:
		return c.checkCoalesce(x.CoalesceExpr, at)
	case *pg_query.Node_MinMaxExpr:
		return c.checkGreatest(x.MinMaxExpr, at)
	case *pg_query.Node_AArrayExpr:
		return c.checkArray(x.AArrayExpr, at)
	case *pg_query.Node_AIndirection:
		return c.checkIndirection(x.AIndirection, at)
	case *pg_query.Node_CollateClause:
		return c.checkCollate(x.CollateClause)
	}
	return nil, refuseNode(n, at)
}

// refuseNode names what is no part of the language.
func refuseNode(n *pg_query.Node, at int) *Error {
	switch x := n.GetNode().(type) {
	case *pg_query.Node_SubLink:
		return refuse(at, codeNotSupported, hintLanguage, "a subquery is not allowed in a selector")
	case *pg_query.Node_ParamRef:
		return refuse(at, codeNotSupported, hintConstant, "a parameter is not allowed in a selector")
	case *pg_query.Node_SqlvalueFunction:
		name := strings.TrimSuffix(strings.ToLower(strings.TrimPrefix(x.SqlvalueFunction.Op.String(), "SVFOP_")), "_n")
		return refuse(at, codeNotImmutable, hintImmutable, "%s is not allowed in a selector", name)
	case *pg_query.Node_RowExpr:
		return refuse(at, codeNotSupported, "Compare the values one by one.", "a row is not allowed in a selector")
	case *pg_query.Node_GroupingFunc:
		return refuse(at, codeGrouping, hintLanguage, "GROUPING is not allowed in a selector")
	case *pg_query.Node_SetToDefault:
		return refuse(at, codeSyntax, hintLanguage, "DEFAULT is not allowed in a selector")
	}
	_, kind, _ := strings.Cut(fmt.Sprintf("%T", n.GetNode()), "Node_")
	return refuse(at, codeNotSupported, hintLanguage, "an expression of this kind (%s) is not allowed in a selector", kind)
}

// columns of a message.
var columns = map[string]typ{
	"id": int8, "added": timestamp, "iid": text, "delayed_until": timestamp, "expires": timestamp, "received": int4 | array,
	"headers": hstore, "properties": hstore, "data": hstore, "payload": jsonb,
}

func (c *compiler) column(r *pg_query.ColumnRef, at int) (*expr, *Error) {
	f := r.Fields
	if last := f[len(f)-1]; last.GetAStar() != nil {
		return nil, refuse(at, codeSyntax, hintLanguage, "a selector must be one SQL expression, * stands for many")
	}
	parts := nameList(f)
	name := parts[len(parts)-1]
	switch {
	case len(parts) == 1 && name == "t":
		return nil, refuse(at, codeMismatch, hintColumns, "the whole row t is not allowed in a selector")
	case len(parts) > 2 || len(parts) == 2 && parts[0] != "t":
		return nil, refuse(at, codeUndefinedTable, hintColumns, "%s is not allowed in a selector: there is nothing but the columns of t", strings.Join(parts, "."))
	}
	return c.columnNamed(name, at)
}

func (c *compiler) columnNamed(name string, at int) (*expr, *Error) {
	t, ok := columns[name]
	if !ok {
		return nil, refuse(at, codeUndefinedColumn, hintColumn, "column %s does not exist: there is nothing but the columns of t", name)
	}
	val := "t." + name
	if t == jsonb { // it is none of the columns of mbus4.qt_model
		val = "mbus4.payload(t.headers, t.data)"
	}
	e := &expr{typ: t, phys: t, val: val, nulls: true, vars: true, size: unbounded, at: at}
	if t == jsonb {
		c.costs(e, 20_000+30*usualText) // it is read anew
	}
	if t == int8 {
		e.lo, e.hi = ranges[int8].lo, ranges[int8].hi
	}
	return e, nil
}

// checkIndirection reads (t).column and array[n].
func (c *compiler) checkIndirection(n *pg_query.A_Indirection, at int) (*expr, *Error) {
	if name := n.Indirection[0].GetString_().GetSval(); name != "" {
		if columnName(n.Arg) == "t" && len(n.Arg.GetColumnRef().Fields) == 1 && len(n.Indirection) == 1 {
			return c.columnNamed(name, at)
		}
		return nil, refuse(at, codeNotSupported, hintColumns, "the field .%s is not allowed in a selector", name)
	}
	i := n.Indirection[0].GetAIndices()
	if i == nil || len(n.Indirection) > 1 || i.IsSlice {
		return nil, refuse(at, codeNotSupported, "Take one element of an array, for example (avals(t.data))[1].", "a slice of an array is not allowed in a selector")
	}
	a, err := c.check(n.Arg)
	if err != nil {
		return nil, err
	}
	if !a.typ.isArray() {
		hint := "Write t.data->'key' for a value of a hstore."
		if a.typ == jsonb {
			hint = "Write t.payload->'key' for a value, and t.payload->0 for an element."
		}
		return nil, refuse(at, codeMismatch, hint, "%s has no elements to take with []", a.typ)
	}
	k, err := c.check(i.Uidx)
	if err != nil {
		return nil, err
	}
	if k, err = c.implicit(k, int4, "an array subscript"); err != nil {
		return nil, err
	}
	e := merge(a.typ.elem(), "("+a.val+")["+c.as(k, int4)+"]", a, k)
	if k.err != "" { // the subscript of an array that is null is not evaluated
		e.err = or(a.err, and(isNotNull(a.val), k.err))
	}
	e.size = a.size
	c.bound(e)
	return e, nil
}

func (c *compiler) checkCollate(n *pg_query.CollateClause) (*expr, *Error) {
	e, err := c.check(n.Arg)
	if err != nil {
		return nil, err
	}
	if e, err = c.known(e, text); err != nil {
		return nil, err
	}
	if e.typ != text {
		return nil, refuse(e.at, codeMismatch, "", "collations are not supported by type %s", e.typ)
	}
	name := strings.TrimPrefix(names(n.Collname), "pg_catalog.")
	if name != "C" && name != "default" {
		return nil, refuse(offset(n.Location), codeNotSupported, `The collations are "C" and "default".`, "the collation %s is not allowed in a selector", name)
	}
	out := *e
	out.collation = name
	out.val = "(" + e.val + ` collate pg_catalog."` + name + `")`
	return &out, nil
}

// sameCollation refuses operands that are to be compared by different collations.
func sameCollation(at int, args ...*expr) *Error {
	found := ""
	for _, a := range args {
		if a.collation == "" {
			continue
		}
		if found != "" && a.collation != found {
			return refuse(at, codeCollation, "", `collation mismatch between explicit collations "%s" and "%s"`, found, a.collation)
		}
		found = a.collation
	}
	return nil
}
