package selector

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// simpleTerms recognizes the common form.
func simpleTerms(n *pg_query.Node, out []Term) ([]Term, bool) {
	if b := n.GetBoolExpr(); b != nil && b.Boolop == pg_query.BoolExprType_AND_EXPR {
		ok := true
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
	column, key, value := columnName(eq.Lexpr.GetAExpr().Lexpr), eq.Lexpr.GetAExpr().Rexpr.GetAConst().GetSval(), eq.Rexpr.GetAConst().GetSval()
	if key == nil || value == nil || column != "headers" && column != "properties" && column != "data" {
		return nil, false
	}
	return append(out, Term{column, key.Sval, value.Sval}), true
}

func isOperator(e *pg_query.A_Expr, name string) bool {
	return e != nil && e.Kind == pg_query.A_Expr_Kind_AEXPR_OP && e.Lexpr != nil && len(e.Name) == 1 && e.Name[0].GetString_().GetSval() == name
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

func compileSimple(text string, n *pg_query.Node, env Env) (*Selector, error) {
	terms, ok := simpleTerms(n, nil)
	if !ok {
		return nil, &Error{Code: "0A000", Message: "this selector is not supported yet"}
	}
	var and []string
	for _, t := range terms {
		and = append(and, "((t."+t.Column+" operator("+env.HstoreSchema+".->) "+quoteText(t.Key)+") operator(pg_catalog.=) "+quoteText(t.Value)+")")
	}
	return &Selector{Text: text, Condition: "case when " + strings.Join(and, " and ") + " then 1 else 0 end", Simple: terms}, nil
}

// quoteText writes a text constant that reads the same whatever standard_conforming_strings is.
func quoteText(s string) string {
	q := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		q = "E" + strings.ReplaceAll(q, `\`, `\\`)
	}
	return q + "::pg_catalog.text"
}
