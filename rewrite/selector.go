package rewrite

import (
	stdcontext "context"
	"errors"
	"fmt"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"mbusproxy/rewrite/parse"
	"mbusproxy/sqlfuncs"
)

const (
	codeSyntaxError   = "42601"
	codeNotImmutable  = "42P17" // invalid_object_definition, as for indexes
	codeUntranslated  = "22021" // character_not_in_repertoire
	selectorExplained = `A selector is one boolean expression over t, a mbus4.qt_model, for example (t.properties->'STATE')='DONE'.`
)

// CheckSelector says what is wrong with the text of a selector as far as that can be told without the
// database: whether it is one expression, holds no subquery, and nothing whose value depends on who asks
// or when. It returns nil when all is well so far. encoding is the client's, or SQL_ASCII where the server
// converts nothing.
func (r *Rewriter) CheckSelector(ctx stdcontext.Context, text, encoding string) *Refusal {
	refuse := func(code, rule string) *Refusal {
		return &Refusal{Code: code, Message: fmt.Sprintf("the selector %s is refused: %s", text, rule), Hint: selectorExplained}
	}
	if kindOf(encoding) != utf8Encoding && encoding != "SQL_ASCII" && strings.ContainsFunc(text, func(c rune) bool { return c >= 0x80 }) {
		return refuse(codeUntranslated, "it holds characters other than ASCII; set client_encoding to UTF8 to create it")
	}
	tree, err := parseExpression(text, func(text string) (*pg_query.ParseResult, error) { return r.parser.Parse(ctx, text) })
	switch {
	case errors.As(err, new(*parse.SyntaxError)):
		return refuse(codeSyntaxError, err.Error())
	case err != nil:
		return parserRefusal(err)
	}
	var found *Refusal
	walkMessages(tree.ProtoReflect(), func(m protoreflect.Message) bool {
		switch n := m.Interface().(type) {
		case *pg_query.SubLink:
			found = refuse(codeFeatureNotSupported, "it must not hold a subquery")
		case *pg_query.SQLValueFunction:
			found = refuse(codeNotImmutable, "only immutable functions and constants may occur in it, and "+valueFunctionName(n)+" is neither")
		case *pg_query.ParamRef:
			found = refuse(codeFeatureNotSupported, "it must not hold parameters")
		}
		return found == nil
	})
	return found
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
	text, ok = decodeLiteral(st.src.text[g.literal.start:g.literal.end], st.plan.enc, st.plan.escapes)
	if !ok || strings.ContainsFunc(text, func(c rune) bool { return c >= 0x80 || c == '\\' || c == 0 }) {
		return "", false // not worth the trouble: the server reads it when it runs
	}
	if _, err := parseExpression(text, st.parse); err != nil {
		return "", false // the server says what is wrong with it
	}
	st.plan.pins = append(st.plan.pins, g.literal.start+1)
	return text + "\n", true
}

// valueFunctionName is what a SQLValueFunction is called in SQL: SVFOP_CURRENT_USER is current_user.
func valueFunctionName(n *pg_query.SQLValueFunction) string {
	return strings.TrimSuffix(strings.ToLower(strings.TrimPrefix(n.Op.String(), "SVFOP_")), "_n")
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
