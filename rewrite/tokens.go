package rewrite

import (
	"fmt"
	"sort"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// token is one lexical token of the client's text; offsets are bytes.
type token struct {
	kind       pg_query.Token
	start, end int
	match      int // index of the matching parenthesis or bracket, -1 for other tokens
}

// source is the client's text together with its tokens (comments left out).
type source struct {
	text    string
	enc     encodingKind
	escapes bool // a backslash escapes in plain strings
	toks    []token
}

// Kinds of the single characters the scanner reports by their code.
const (
	tokOpen      = pg_query.Token_ASCII_40
	tokClose     = pg_query.Token_ASCII_41
	tokComma     = pg_query.Token_ASCII_44
	tokMinus     = pg_query.Token_ASCII_45
	tokDot       = pg_query.Token_ASCII_46
	tokSemicolon = pg_query.Token_ASCII_59
	tokLBracket  = pg_query.Token_ASCII_91
	tokRBracket  = pg_query.Token_ASCII_93
)

// scan reads the tokens of text. parsed is the text as the parser may see it: of the same length,
// with bytes it cannot read replaced (see parseable).
func scan(text, parsed string, enc encodingKind, escapes bool) (*source, error) {
	res, err := pg_query.Scan(parsed)
	if err != nil {
		return nil, fmt.Errorf("scanning statement: %w", err)
	}
	s := &source{text: text, enc: enc, escapes: escapes, toks: make([]token, 0, len(res.Tokens))}
	var open []int
	for _, t := range res.Tokens {
		switch t.Token {
		case pg_query.Token_SQL_COMMENT, pg_query.Token_C_COMMENT:
			continue
		}
		i := len(s.toks)
		s.toks = append(s.toks, token{kind: t.Token, start: int(t.Start), end: int(t.End), match: -1})
		switch t.Token {
		case tokOpen, tokLBracket:
			open = append(open, i)
		case tokClose, tokRBracket:
			if len(open) == 0 {
				return nil, fmt.Errorf("unbalanced parentheses at byte %d", t.Start)
			}
			o := open[len(open)-1]
			open = open[:len(open)-1]
			s.toks[o].match, s.toks[i].match = i, o
		}
	}
	return s, nil
}

// at returns the index of the token that starts at byte pos, or -1.
func (s *source) at(pos int) int {
	i := sort.Search(len(s.toks), func(i int) bool { return s.toks[i].start >= pos })
	if i < len(s.toks) && s.toks[i].start == pos {
		return i
	}
	return -1
}

// from returns the index of the first token that starts at or behind byte pos.
func (s *source) from(pos int) int {
	return sort.Search(len(s.toks), func(i int) bool { return s.toks[i].start >= pos })
}

// kind returns the kind of token i, or NUL outside the text.
func (s *source) kind(i int) pg_query.Token {
	if i < 0 || i >= len(s.toks) {
		return pg_query.Token_NUL
	}
	return s.toks[i].kind
}

// next returns the index behind token i, jumping over a bracketed group that opens at i.
func (s *source) next(i int) int {
	if m := s.toks[i].match; m > i {
		return m + 1
	}
	return i + 1
}

// find returns the index of the first token in [i, end) that is one of kinds and lies in no
// parentheses of its own, or -1.
func (s *source) find(i, end int, kinds ...pg_query.Token) int {
	for ; i < end && i < len(s.toks); i = s.next(i) {
		for _, k := range kinds {
			if s.toks[i].kind == k {
				return i
			}
		}
	}
	return -1
}

// span is a range of bytes in the client's text.
type span struct{ start, end int }

// region returns the tokens of a statement, without the semicolon behind it.
func (s *source) region(raw *pg_query.RawStmt) region {
	reg := region{s.from(int(raw.StmtLocation)), len(s.toks)}
	if raw.StmtLen > 0 {
		reg.end = s.from(int(raw.StmtLocation + raw.StmtLen))
	}
	return reg
}

// tokens returns the span from token i up to (not including) token j.
func (s *source) tokens(i, j int) span {
	return span{s.toks[i].start, s.toks[j-1].end}
}
