package selector

import (
	"strings"
	"unicode/utf8"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

const (
	maxText   = 16 << 10 // bytes of a selector
	maxTokens = 2000     // what the parser's stack takes without thinking, many times over
	prefix    = "select\n"
)

// parseExpression parses a text that must be one expression.
func parseExpression(text string) (*pg_query.Node, *Error) {
	if len(text) > maxText {
		return nil, &Error{Code: "54000", Message: "the selector is too long", Hint: "At most 16384 bytes."}
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, &Error{Code: "22021", Message: "the selector is not valid UTF-8"}
	}
	tokens, err := pg_query.Scan(text)
	if err == nil && len(tokens.Tokens) > maxTokens {
		return nil, &Error{Code: "54001", Message: "the selector is too complex", Hint: "At most 2000 words and signs."}
	}
	tree, err := pg_query.Parse(prefix + text + "\n") // the line break ends a comment at the text's end
	if err != nil {
		return nil, &Error{Code: "42601", Message: "a selector must be one SQL expression: " + err.Error()}
	}
	if len(tree.Stmts) == 1 {
		if s := tree.Stmts[0].Stmt.GetSelectStmt(); s != nil && len(s.TargetList) == 1 {
			if v := s.TargetList[0].GetResTarget().GetVal(); v != nil {
				return v, nil
			}
		}
	}
	return nil, &Error{Code: "42601", Message: "a selector must be one SQL expression"}
}
