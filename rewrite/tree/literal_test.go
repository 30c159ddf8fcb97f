package tree

import (
	"strings"
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/lex"
)

// FuzzDecodeLiteral compares with the server's own lexer.
func FuzzDecodeLiteral(f *testing.F) {
	for _, s := range []string{`'a''b'`, "'a'\n'b'", `E'\x41\101\u0441\'\\'`, `U&'\0441!'`, `U&'!0441\' uescape '!'`, `$a$b$a$`, `$$'$$`, `E'\ud83d\ude00'`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, 0) {
			return
		}
		parsed, err := pg_query.Parse("select " + text)
		if err != nil || len(parsed.Stmts) != 1 {
			return
		}
		targets := parsed.Stmts[0].Stmt.GetSelectStmt().GetTargetList()
		if len(targets) != 1 || targets[0].GetResTarget().Val.GetAConst().GetSval() == nil {
			return
		}
		s, err := Scan("select "+text, lex.UTF8.Parseable("select "+text), lex.UTF8, false)
		if err != nil || len(s.Toks) < 2 || (len(s.Toks) > 2 && s.Kind(2) != pg_query.Token_UESCAPE) || len(s.Toks) > 4 {
			return
		}
		sp := s.Span(1, len(s.Toks))
		want := targets[0].GetResTarget().Val.GetAConst().GetSval().Sval
		if got, ok := lex.DecodeLiteral(s.Text[sp.Start:sp.End], lex.UTF8, false); ok && got != want {
			t.Errorf("%q gives %q, want %q", s.Text[sp.Start:sp.End], got, want)
		}
	})
}
