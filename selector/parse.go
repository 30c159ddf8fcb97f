package selector

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/parse"
)

const (
	maxText   = 16 << 10 // bytes of a selector
	maxTokens = 2000     // the parser's stack takes many times as many, however they are nested
	maxDepth  = 200      // of operations in one another
	prefix    = "select\n"
)

// parseExpression parses a text that must be one expression.
func parseExpression(ctx context.Context, parser *parse.Parser, src string) (*pg_query.Node, error) {
	if len(src) > maxText {
		return nil, refuse(0, codeProgramLimit, hintShorter, "a selector of %d bytes is too long, it may have %d", len(src), maxText)
	}
	if !utf8.ValidString(src) || strings.ContainsRune(src, 0) {
		return nil, refuse(0, codeUntranslated, "Set client_encoding to UTF8 to create it.", "the selector is no valid text in UTF8")
	}
	notOne := func(why string) *Error {
		return refuse(0, codeSyntax, hintLanguage, "a selector must be one SQL expression%s", why)
	}
	tokens, err := pg_query.Scan(src)
	if err != nil {
		return nil, notOne(": " + err.Error())
	}
	if len(tokens.Tokens) > maxTokens {
		return nil, refuse(0, codeTooComplex, hintShorter, "a selector of %d words and signs is too complex, it may have %d", len(tokens.Tokens), maxTokens)
	}
	tree, err := parser.Parse(ctx, prefix+src+"\n") // the line break ends a comment at the text's end
	switch {
	case errors.As(err, new(*parse.SyntaxError)):
		return nil, notOne(": " + err.Error())
	case errors.As(err, new(*parse.LimitError)):
		return nil, tooComplex(0)
	case err != nil:
		return nil, err
	}
	if len(tree.Stmts) != 1 {
		return nil, notOne("")
	}
	s := tree.Stmts[0].Stmt.GetSelectStmt()
	if s == nil || !onlyTarget(s) {
		return nil, notOne("")
	}
	target := s.TargetList[0].GetResTarget()
	if target.GetName() != "" || len(target.GetIndirection()) > 0 || target.GetVal() == nil {
		return nil, notOne("")
	}
	return target.Val, nil
}

// onlyTarget reports whether a SELECT has one target and no clause.
func onlyTarget(s *pg_query.SelectStmt) bool {
	return len(s.TargetList) == 1 && s.Op == pg_query.SetOperation_SETOP_NONE && len(s.DistinctClause) == 0 && s.IntoClause == nil &&
		len(s.FromClause) == 0 && s.WhereClause == nil && len(s.GroupClause) == 0 && s.HavingClause == nil && len(s.WindowClause) == 0 &&
		len(s.ValuesLists) == 0 && len(s.SortClause) == 0 && s.LimitOffset == nil && s.LimitCount == nil && len(s.LockingClause) == 0 && s.WithClause == nil
}
