package tree

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/lex"
)

// CaseWords are the indexes of a CASE's own tokens.
type CaseWords struct {
	First        int // CASE
	Whens, Thens []int
	End          int // END
}

// Branches finds the words of a CASE. It is false if they are not found.
func (s *Source) Branches(n *pg_query.CaseExpr) (w CaseWords, ok bool) {
	w.First = s.At(int(n.Location))
	if s.Kind(w.First) != pg_query.Token_CASE {
		return w, false
	}
	depth := 0
	for i := w.First + 1; ; i++ {
		i = s.Find(i, len(s.Toks), pg_query.Token_CASE, pg_query.Token_WHEN, pg_query.Token_THEN, pg_query.Token_END_P)
		switch k := s.Kind(i); {
		case i < 0:
			return w, false
		case s.Kind(i-1) == tokDot: // it is the name of a column
		case k == pg_query.Token_CASE:
			depth++
		case depth > 0 && k == pg_query.Token_END_P:
			depth--
		case depth > 0:
		case k == pg_query.Token_WHEN:
			w.Whens = append(w.Whens, i)
		case k == pg_query.Token_THEN:
			w.Thens = append(w.Thens, i)
		default:
			w.End = i
			return w, len(w.Whens) == len(n.Args) && len(w.Thens) == len(n.Args)
		}
	}
}

// SplitArguments returns the spans of the arguments between the parentheses that are the tokens open and end.
func (s *Source) SplitArguments(open, end int) []lex.Span {
	if open+1 == end {
		return nil
	}
	var out []lex.Span
	from := open + 1
	for {
		comma := s.Find(from, end, TokComma)
		if comma < 0 {
			return append(out, s.Span(from, end))
		}
		out = append(out, s.Span(from, comma))
		from = comma + 1
	}
}

// clauseEnds are the words that end a clause of a SELECT, UPDATE or DELETE.
var clauseEnds = []pg_query.Token{
	pg_query.Token_FROM, pg_query.Token_INTO, pg_query.Token_WHERE, pg_query.Token_GROUP_P, pg_query.Token_HAVING,
	pg_query.Token_WINDOW, pg_query.Token_ORDER, pg_query.Token_LIMIT, pg_query.Token_OFFSET, pg_query.Token_FETCH,
	pg_query.Token_FOR, pg_query.Token_UNION, pg_query.Token_INTERSECT, pg_query.Token_EXCEPT, pg_query.Token_RETURNING,
}

// ClauseEnd returns the index of the token behind the clause in which token i stands; end at most.
func (s *Source) ClauseEnd(i, end int) int {
	for {
		j := s.Find(i, end, clauseEnds...)
		switch {
		case j < 0:
			return end
		case s.Kind(j) == pg_query.Token_FROM && s.Kind(j-1) == pg_query.Token_DISTINCT,
			s.Kind(j) == pg_query.Token_GROUP_P && s.Kind(j-1) == pg_query.Token_WITHIN:
			i = j + 1 // a IS DISTINCT FROM b, WITHIN GROUP (…)
		default:
			return j
		}
	}
}

// Clause returns the span of a clause of reg without the keyword that opens it. It is false if there is none.
func (s *Source) Clause(reg Region, keyword pg_query.Token) (lex.Span, bool) {
	if !reg.Known() {
		return lex.Span{}, false
	}
	i := s.Find(reg.First, reg.End, keyword)
	if i < 0 {
		return lex.Span{}, false
	}
	j := s.ClauseEnd(i+1, reg.End)
	return s.Span(i+1, j), j > i+1
}

// Unwrap returns reg without parentheses around all of it.
func (s *Source) Unwrap(reg Region) Region {
	for reg.Known() && s.Kind(reg.First) == TokOpen && s.Toks[reg.First].Match == reg.End-1 {
		reg = Region{reg.First + 1, reg.End - 1}
	}
	return reg
}

// BehindQuery reports whether token i begins what may stand behind a query and belongs to the statement around it: ON
// CONFLICT, WITH [NO] DATA, WITH CHECK OPTION.
func (s *Source) BehindQuery(i int) bool {
	switch s.Kind(i) {
	case pg_query.Token_ON:
		return true
	case pg_query.Token_WITH:
		switch s.Kind(i + 1) {
		case pg_query.Token_DATA_P, pg_query.Token_NO, pg_query.Token_CHECK, pg_query.Token_LOCAL, pg_query.Token_CASCADED:
			return true
		}
	}
	return false
}

// Explained returns where the statement begins that an EXPLAIN explains. i is the token behind EXPLAIN.
func (s *Source) Explained(i int) int {
	if s.Kind(i) == TokOpen {
		switch s.Kind(i + 1) {
		case pg_query.Token_SELECT, pg_query.Token_WITH, pg_query.Token_VALUES, TokOpen:
		default:
			return s.Next(i)
		}
	}
	for s.Kind(i) == pg_query.Token_ANALYZE || s.Kind(i) == pg_query.Token_ANALYSE || s.Kind(i) == pg_query.Token_VERBOSE {
		i++
	}
	return i
}

// WithoutWithData returns the end of the query of a CREATE TABLE AS, without WITH [NO] DATA.
func (s *Source) WithoutWithData(end int) int {
	if s.Kind(end-1) != pg_query.Token_DATA_P {
		return end
	}
	if s.Kind(end-2) == pg_query.Token_NO {
		end--
	}
	return end - 2
}

// CTEBody returns the tokens of a query of a WITH clause between its parentheses, and the index of the token behind it.
func (s *Source) CTEBody(cte *pg_query.CommonTableExpr) (body Region, next int) {
	i := s.At(int(cte.Location)) + 1 // behind the name
	for s.Kind(i) != pg_query.Token_AS {
		i = s.Next(i) // the column names
	}
	for s.Kind(i) != TokOpen {
		i++ // AS [NOT] [MATERIALIZED]
	}
	body = Region{i + 1, s.Toks[i].Match}
	next = s.Next(i)
	// SEARCH and CYCLE belong to it.
	for s.Kind(next) == pg_query.Token_SEARCH || s.Kind(next) == pg_query.Token_CYCLE {
		next = s.Find(next+1, len(s.Toks), pg_query.Token_SELECT, pg_query.Token_INSERT, pg_query.Token_UPDATE,
			pg_query.Token_DELETE_P, pg_query.Token_MERGE, pg_query.Token_VALUES, pg_query.Token_TABLE, TokComma,
			pg_query.Token_SEARCH, pg_query.Token_CYCLE, TokOpen)
		if next < 0 {
			return body, len(s.Toks)
		}
	}
	return body, next
}
