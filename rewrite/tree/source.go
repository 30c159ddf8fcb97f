package tree

import (
	"fmt"
	"sort"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/lex"
)

// Region is a range of tokens [First, End). The zero value stands for a range that is not known.
type Region struct{ First, End int }

// Known reports whether the range is known.
func (r Region) Known() bool { return r.End > 0 }

// Token is a token of the client's text; offsets are bytes.
type Token struct {
	kind       pg_query.Token
	Start, End int
	Match      int // index of the matching parenthesis or bracket, -1 for other tokens
}

// Source is a client's text with its tokens. Comments are none.
type Source struct {
	Text    string
	Enc     lex.Encoding
	Escapes bool // a backslash escapes in plain strings
	Toks    []Token
}

// Kinds of tokens that are single characters.
const (
	TokOpen      = pg_query.Token_ASCII_40
	TokClose     = pg_query.Token_ASCII_41
	TokComma     = pg_query.Token_ASCII_44
	TokMinus     = pg_query.Token_ASCII_45
	tokDot       = pg_query.Token_ASCII_46
	TokSemicolon = pg_query.Token_ASCII_59
	tokLBracket  = pg_query.Token_ASCII_91
	tokRBracket  = pg_query.Token_ASCII_93
)

// Scan reads the tokens of a text. parsed is the text as the parser may see it, see lex.Encoding.Parseable.
func Scan(text, parsed string, enc lex.Encoding, escapes bool) (*Source, error) {
	res, err := pg_query.Scan(parsed)
	if err != nil {
		return nil, fmt.Errorf("scanning statement: %w", err)
	}
	s := &Source{Text: text, Enc: enc, Escapes: escapes, Toks: make([]Token, 0, len(res.Tokens))}
	var open []int
	for _, t := range res.Tokens {
		switch t.Token {
		case pg_query.Token_SQL_COMMENT, pg_query.Token_C_COMMENT:
			continue
		}
		i := len(s.Toks)
		s.Toks = append(s.Toks, Token{kind: t.Token, Start: int(t.Start), End: int(t.End), Match: -1})
		switch t.Token {
		case TokOpen, tokLBracket:
			open = append(open, i)
		case TokClose, tokRBracket:
			if len(open) == 0 {
				return nil, fmt.Errorf("unbalanced parentheses at byte %d", t.Start)
			}
			o := open[len(open)-1]
			open = open[:len(open)-1]
			s.Toks[o].Match, s.Toks[i].Match = i, o
		}
	}
	return s, nil
}

// At returns the index of the token that begins at byte pos, or -1.
func (s *Source) At(pos int) int {
	i := sort.Search(len(s.Toks), func(i int) bool { return s.Toks[i].Start >= pos })
	if i < len(s.Toks) && s.Toks[i].Start == pos {
		return i
	}
	return -1
}

// From returns the index of the first token that begins at byte pos or behind it.
func (s *Source) From(pos int) int {
	return sort.Search(len(s.Toks), func(i int) bool { return s.Toks[i].Start >= pos })
}

// Kind returns the kind of token i, or NUL outside the text.
func (s *Source) Kind(i int) pg_query.Token {
	if i < 0 || i >= len(s.Toks) {
		return pg_query.Token_NUL
	}
	return s.Toks[i].kind
}

// Next returns the index of the token behind token i, or if i opens a bracket, behind the bracket that closes it.
func (s *Source) Next(i int) int {
	if m := s.Toks[i].Match; m > i {
		return m + 1
	}
	return i + 1
}

// Find returns the index of the first token in [i, end) that is one of kinds and stands in no
// bracket that opens there; or
// -1.
func (s *Source) Find(i, end int, kinds ...pg_query.Token) int {
	for ; i < end && i < len(s.Toks); i = s.Next(i) {
		for _, k := range kinds {
			if s.Toks[i].kind == k {
				return i
			}
		}
	}
	return -1
}

// Statement returns the tokens of a statement, without the semicolon behind it.
func (s *Source) Statement(raw *pg_query.RawStmt) Region {
	reg := Region{s.From(int(raw.StmtLocation)), len(s.Toks)}
	if raw.StmtLen > 0 {
		reg.End = s.From(int(raw.StmtLocation + raw.StmtLen))
	}
	return reg
}

// Span returns the span of the tokens [i, j).
func (s *Source) Span(i, j int) lex.Span {
	return lex.Span{Start: s.Toks[i].Start, End: s.Toks[j-1].End}
}
