package tree

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// ColumnName returns the name Postgres gives to a result column: the alias, or what
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

// figureColumn returns a name and how good it is: 0 none, 1 a type's name, 2 a real name.
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

// LastName returns the last plain name of a list that may hold subscripts and stars.
func LastName(list []*pg_query.Node) (string, int) {
	for i := len(list) - 1; i >= 0; i-- {
		if s := list[i].GetString_(); s != nil {
			return s.Sval, 2
		}
	}
	return "", 0
}

func sqlValueName(op pg_query.SQLValueFunctionOp) string {
	switch op {
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_DATE:
		return "current_date"
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIME, pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIME_N:
		return "current_time"
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP, pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP_N:
		return "current_timestamp"
	case pg_query.SQLValueFunctionOp_SVFOP_LOCALTIME, pg_query.SQLValueFunctionOp_SVFOP_LOCALTIME_N:
		return "localtime"
	case pg_query.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP, pg_query.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP_N:
		return "localtimestamp"
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_ROLE:
		return "current_role"
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_USER:
		return "current_user"
	case pg_query.SQLValueFunctionOp_SVFOP_USER:
		return "user"
	case pg_query.SQLValueFunctionOp_SVFOP_SESSION_USER:
		return "session_user"
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_CATALOG:
		return "current_catalog"
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_SCHEMA:
		return "current_schema"
	}
	return "?column?"
}

func xmlName(op pg_query.XmlExprOp) (string, int) {
	switch op {
	case pg_query.XmlExprOp_IS_XMLCONCAT:
		return "xmlconcat", 2
	case pg_query.XmlExprOp_IS_XMLELEMENT:
		return "xmlelement", 2
	case pg_query.XmlExprOp_IS_XMLFOREST:
		return "xmlforest", 2
	case pg_query.XmlExprOp_IS_XMLPARSE:
		return "xmlparse", 2
	case pg_query.XmlExprOp_IS_XMLPI:
		return "xmlpi", 2
	case pg_query.XmlExprOp_IS_XMLROOT:
		return "xmlroot", 2
	case pg_query.XmlExprOp_IS_XMLSERIALIZE:
		return "xmlserialize", 2
	}
	return "", 0
}

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
