package selector

import pg_query "github.com/pganalyze/pg_query_go/v6"

// simpleTerms recognizes the common form, of a selector that was found good.
func simpleTerms(n *pg_query.Node, out []Term) ([]Term, bool) {
	if b := n.GetBoolExpr(); b != nil && b.Boolop == pg_query.BoolExprType_AND_EXPR {
		var ok bool
		for _, a := range b.Args {
			if out, ok = simpleTerms(a, out); !ok {
				return nil, false
			}
		}
		return out, true
	}
	eq := n.GetAExpr()
	if !isOperator(eq, "=") || !isOperator(eq.Lexpr.GetAExpr(), "->") {
		return nil, false
	}
	fetch := eq.Lexpr.GetAExpr()
	key, value := fetch.Rexpr.GetAConst().GetSval(), eq.Rexpr.GetAConst().GetSval()
	name := columnName(fetch.Lexpr)
	if key == nil || value == nil || name != "headers" && name != "properties" && name != "data" {
		return nil, false
	}
	return append(out, Term{name, key.Sval, value.Sval}), true
}

func isOperator(e *pg_query.A_Expr, name string) bool {
	return e != nil && e.Kind == pg_query.A_Expr_Kind_AEXPR_OP && e.Lexpr != nil && len(e.Name) == 1 && names(e.Name) == name
}

// columnName is the name of a column written bare or with t.
func columnName(n *pg_query.Node) string {
	f := n.GetColumnRef().GetFields()
	if len(f) == 2 && f[0].GetString_().GetSval() == "t" {
		f = f[1:]
	}
	if len(f) != 1 {
		return ""
	}
	return f[0].GetString_().GetSval()
}
