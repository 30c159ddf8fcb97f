package tree

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// ColumnName returns the name that Postgres gives to a column of a result: the alias, or what
// FigureColname in the server's parse_target.c makes of the expression.
func ColumnName(t *pg_query.ResTarget) string {
	if t.Name != "" {
		return t.Name
	}
	if name, _ := figureColumn(t.Val); name != "" {
		return name
	}
	return "?column?"
}

// figureColumn returns a name and its strength, as the server has it: 0 is none, 1 that of a type, 2 any other.
func figureColumn(n *pg_query.Node) (name string, strength int) {
	if n == nil {
		return "", 0
	}
	switch v := n.Node.(type) {
	case *pg_query.Node_ColumnRef:
		return LastName(v.ColumnRef.Fields)
	case *pg_query.Node_AIndirection:
		if name, s := LastName(v.AIndirection.Indirection); s > 0 {
			return name, s
		}
		return figureColumn(v.AIndirection.Arg)
	case *pg_query.Node_FuncCall:
		return LastName(v.FuncCall.Funcname)
	case *pg_query.Node_AExpr:
		if v.AExpr.Kind == pg_query.A_Expr_Kind_AEXPR_NULLIF {
			return "nullif", 2
		}
	case *pg_query.Node_TypeCast:
		if name, s := figureColumn(v.TypeCast.Arg); s > 1 {
			return name, s
		}
		name, s := LastName(v.TypeCast.TypeName.GetNames())
		return name, min(s, 1)
	case *pg_query.Node_CollateClause:
		return figureColumn(v.CollateClause.Arg)
	case *pg_query.Node_GroupingFunc:
		return "grouping", 2
	case *pg_query.Node_MergeSupportFunc:
		return "merge_action", 2
	case *pg_query.Node_SubLink:
		switch v.SubLink.SubLinkType {
		case pg_query.SubLinkType_EXISTS_SUBLINK:
			return "exists", 2
		case pg_query.SubLinkType_ARRAY_SUBLINK:
			return "array", 2
		case pg_query.SubLinkType_EXPR_SUBLINK:
			sel := v.SubLink.Subselect.GetSelectStmt()
			for sel.GetLarg() != nil {
				sel = sel.Larg
			}
			if list := sel.GetTargetList(); len(list) > 0 {
				t := list[0].GetResTarget()
				if t.Name != "" {
					return t.Name, 2
				}
				return figureColumn(t.Val)
			}
		}
	case *pg_query.Node_CaseExpr:
		if name, s := figureColumn(v.CaseExpr.Defresult); s > 1 {
			return name, s
		}
		return "case", 1
	case *pg_query.Node_AArrayExpr:
		return "array", 2
	case *pg_query.Node_RowExpr:
		return "row", 2
	case *pg_query.Node_CoalesceExpr:
		return "coalesce", 2
	case *pg_query.Node_MinMaxExpr:
		if v.MinMaxExpr.Op == pg_query.MinMaxOp_IS_LEAST {
			return "least", 2
		}
		return "greatest", 2
	case *pg_query.Node_SqlvalueFunction:
		return sqlValueName(v.SqlvalueFunction.Op), 2
	case *pg_query.Node_XmlExpr:
		return xmlName(v.XmlExpr.Op)
	case *pg_query.Node_XmlSerialize:
		return "xmlserialize", 2
	case *pg_query.Node_JsonObjectConstructor, *pg_query.Node_JsonObjectAgg:
		return jsonName(n)
	case *pg_query.Node_JsonArrayConstructor, *pg_query.Node_JsonArrayQueryConstructor, *pg_query.Node_JsonArrayAgg:
		return jsonName(n)
	}
	return "", 0
}

// LastName returns the last name in a list that may hold subscripts and stars, and its strength.
func LastName(list []*pg_query.Node) (string, int) {
	for i := len(list) - 1; i >= 0; i-- {
		if s := list[i].GetString_(); s != nil {
			return s.Sval, 2
		}
	}
	return "", 0
}

// sqlValueName returns the name of an SQLValueFunction such as current_date, with or without a precision.
func sqlValueName(op pg_query.SQLValueFunctionOp) string {
	return strings.TrimSuffix(strings.ToLower(strings.TrimPrefix(op.String(), "SVFOP_")), "_n")
}

// xmlName returns the name of an XmlExpr such as xmlconcat. IS DOCUMENT has none.
func xmlName(op pg_query.XmlExprOp) (string, int) {
	if name := strings.ToLower(strings.TrimPrefix(op.String(), "IS_")); strings.HasPrefix(name, "xml") {
		return name, 2
	}
	return "", 0
}

// jsonName returns the name of a constructor or aggregate of JSON.
func jsonName(n *pg_query.Node) (string, int) {
	switch n.Node.(type) {
	case *pg_query.Node_JsonObjectConstructor:
		return "json_object", 2
	case *pg_query.Node_JsonArrayConstructor, *pg_query.Node_JsonArrayQueryConstructor:
		return "json_array", 2
	case *pg_query.Node_JsonObjectAgg:
		return "json_objectagg", 2
	case *pg_query.Node_JsonArrayAgg:
		return "json_arrayagg", 2
	}
	return "", 0
}
