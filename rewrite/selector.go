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
	parsed, err := parser("select\n" + text + "\n")
	if err != nil {
		return nil, fmt.Errorf(rule+": %w", err)
	}
	if len(parsed.Stmts) != 1 || !isExpressionOnly(parsed.Stmts[0].Stmt.GetSelectStmt()) {
		return nil, &parse.SyntaxError{Message: rule}
	}
	return parsed, nil
}

// condition returns the expression that a call gives for its function's Condition, ready to stand in
// parentheses in a statement, where it is a literal that can be read. A plan holds for that literal only.
func (st *statement) condition(c *call) (text string, ok bool) {
	a, given := c.args[c.match.Func.Condition]
	if !given {
		return "", false
	}
	g, ok := st.readValue(a, sqlfuncs.Text)
	if !ok || g.Null || g.literal == (span{}) {
		return "", false
	}
	text, ok = decodeLiteral(st.src.text[g.literal.start:g.literal.end], st.src.enc, st.src.escapes)
	if !ok || strings.ContainsFunc(text, func(c rune) bool { return c >= 0x80 || c == '\\' || c == 0 }) {
		return "", false // not worth the trouble: the server reads it when it runs
	}
	if _, err := parseExpression(text, st.parse); err != nil {
		return "", false // the server says what is wrong with it
	}
	st.plan.pin(g.literal.start + 1)
	return text + "\n", true
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
