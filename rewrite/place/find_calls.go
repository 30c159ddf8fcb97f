package place

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"mbusproxy/rewrite/detect"
	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

// call is one call of a served function.
type call struct {
	lex.Span // from the function's name to the closing parenthesis
	node     *pg_query.FuncCall
	match    sqlfuncs.Match
	list     []*pg_query.Node      // the arguments in the order of the text
	args     map[string]argument   // what the caller gives, under the parameters' first names
	values   map[string]plan.Given // what must be known of them before the statement runs
	bad      *plan.Refusal         // of arguments that do not fit; else nil
	number   int                   // 1-based, in the order in which the calls are placed

	// ref writes what stands in the server's text where the call stood. It is nil until the call is placed.
	ref func(o *splice.Output)
	// column and from say where the result is, if the call is one of callRows.
	column, from string
	// set is the callSet that the call is in; nil for none.
	set *callSet
	// srf says that what ref writes yields a set.
	srf bool
	// maySkip says that the call may not be evaluated at all: there are guards.
	maySkip bool
	// once says that the call is served by WITH queries that are evaluated once.
	once bool
	// alone says that the call is all that a SELECT without clauses has, columns that it stands in FROM and nothing is read but columns
	// of what it yields.
	alone, columns bool
	// reads is sqlfuncs.Use.Reads.
	reads []string
	// function says that the call is served in place, by a function in the database.
	function bool
	// named says that the column or table that is named after the call has got this name as an alias.
	named bool
	// wrapped says that ref writes a function around what serves the call, for FROM; see wrapInFrom.
	wrapped bool
	// unqualified says that the call names no schema, guarded that it needs a guard; see guardCalls.
	unqualified, guarded bool
}

// findCalls returns the calls below node. void lists the parameters ($n) that are no arguments, see plan.Session;
// unqualified has the names that are served without the schema.
func findCalls(s *tree.Source, node protoreflect.Message, void []int, unqualified *detect.Unqualified) []*call {
	var out []*call
	tree.Walk(node, func(m protoreflect.Message) bool {
		fc, ok := m.Interface().(*pg_query.FuncCall)
		if !ok {
			return true
		}
		if c := readCall(s, fc, void, unqualified); c != nil {
			out = append(out, c)
		}
		return true
	})
	return out
}

// readCall returns the call that fc is, or nil where it is none of ours.
func readCall(s *tree.Source, fc *pg_query.FuncCall, void []int, unqualified *detect.Unqualified) *call {
	var match sqlfuncs.Match
	var ok bool
	words := 3 // schema, dot, function
	switch {
	case len(fc.Funcname) == 1:
		words = 1
	case len(fc.Funcname) != 2 || tree.NameOf(fc.Funcname[0]) != sqlfuncs.Schema:
		return nil
	}
	first := s.At(int(fc.Location))
	name := tree.NameOf(fc.Funcname[len(fc.Funcname)-1])
	if sqlfuncs.IsCut(name) {
		name = wholeName(s, first+words-1, name)
	}
	if words == 1 {
		match, ok = unqualified.Lookup(name)
	} else {
		match, ok = sqlfuncs.Lookup(name)
	}
	if !ok {
		return nil
	}
	open := first + words
	if first < 0 || s.Kind(open) != tree.TokOpen {
		return nil
	}
	end := s.Toks[open].Match
	c := &call{
		Span:  lex.Span{Start: s.Toks[first].Start, End: s.Toks[end].End},
		node:  fc,
		match: match,
	}
	c.bind(s, open, end, void)
	if c.unqualified = words == 1; c.unqualified && c.bad != nil {
		return nil // it may be another function of the name; if there is none, the server says so
	}
	return c
}

// wholeName returns a name that the parser may have cut off, as it stands in the text: its token is i.
func wholeName(s *tree.Source, i int, name string) string {
	if i < 0 || i >= len(s.Toks) {
		return name
	}
	text := s.Text[s.Toks[i].Start:s.Toks[i].End]
	if len(text) > 2 && text[1] == '&' { // U&"…"
		text = text[2:]
	}
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		text = strings.TrimSuffix(quoted, `"`)
	} else {
		text = sqlfuncs.Fold(text)
	}
	if !strings.HasPrefix(text, name) {
		return name // it has escapes
	}
	return text
}

// identifier is the call's name, quoted, as the server knows it: what a column or table that is named after the call is called.
func (c *call) identifier() string { return sqlfuncs.QuoteIdent(sqlfuncs.CutIdent(c.match.Name)) }

// native reports whether the call is served by an expression in its place that has an effect, and so must not be copied.
func (c *call) native() bool { return c.match.Func.Effect == sqlfuncs.Native && !c.match.Func.Prelude }
