package rewrite

import (
	"fmt"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/parse"
	"mbusproxy/sqlfuncs"
)

// Translated reports whether the proxy reads a text as the server does: all of it is ASCII or the encodings are UTF8.
// encoding is the client's, or SQL_ASCII where the server converts nothing.
func Translated(text, encoding string) bool {
	return kindOf(encoding) == utf8Encoding || encoding == "SQL_ASCII" || !strings.ContainsFunc(text, func(c rune) bool { return c >= 0x80 })
}

// parseExpression parses a text that must be one expression; where it is none the error is a *parse.SyntaxError.
func parseExpression(text string, parser func(text string) (*pg_query.ParseResult, error)) (*pg_query.ParseResult, error) {
	const rule = "it must be one SQL expression"
	// The line break ends a comment at the text's end.
	tree, err := parser("select\n" + text + "\n")
	if err != nil {
		return nil, fmt.Errorf(rule+": %w", err)
	}
	if len(tree.Stmts) != 1 || !isExpressionOnly(tree.Stmts[0].Stmt.GetSelectStmt()) {
		return nil, &parse.SyntaxError{Message: rule}
	}
	return tree, nil
}

// condition returns the expression that a call gives for its function's Condition, ready to stand in
// parentheses in a statement, where it is a literal that can be read, else "". A plan holds for that literal only.
func (st *statement) condition(c *call) string {
	a, given := c.args[c.match.Func.Condition]
	if !given {
		return ""
	}
	g, ok := st.readValue(a, sqlfuncs.Text)
	if !ok || g.Null || g.literal == (span{}) {
		return ""
	}
	text, ok := decodeLiteral(st.src.text[g.literal.start:g.literal.end], st.plan.enc, st.plan.escapes)
	if !ok || strings.ContainsFunc(text, func(c rune) bool { return c >= 0x80 || c == '\\' || c == 0 }) {
		return "" // not worth the trouble: the server reads it when it runs
	}
	if _, err := parseExpression(text, st.parse); err != nil {
		return "" // the server says what is wrong with it
	}
	st.plan.pins = append(st.plan.pins, g.literal.start+1)
	return text + "\n"
}

// isExpressionOnly reports whether a SELECT has one target without a name, and nothing else.
func isExpressionOnly(s *pg_query.SelectStmt) bool {
	if s == nil || len(s.TargetList) != 1 || s.Op != pg_query.SetOperation_SETOP_NONE || s.WithClause != nil || s.IntoClause != nil ||
		len(s.FromClause) > 0 || clauseOf(s) != "" {
		return false
	}
	t := s.TargetList[0].GetResTarget()
	return t.GetName() == "" && len(t.GetIndirection()) == 0 && !endsInStar(t.GetVal())
}
