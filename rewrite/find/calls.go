package find

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"mbusproxy/rewrite/detect"
	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

// Call is one call of a served function.
type Call struct {
	lex.Span // from the function's name to the closing parenthesis
	Node     *pg_query.FuncCall
	Match    sqlfuncs.Match
	List     []*pg_query.Node    // the arguments in the order of the text
	Args     map[string]Argument // what the caller gives, under the parameters' first names
	Bad      *plan.Refusal       // of arguments that do not fit; else nil
	// unqualified says that the call names no schema.
	Unqualified bool
}

// Calls returns the calls below node. void lists the parameters ($n) that are no arguments, see plan.Session;
// unqualified has the names that are served without the schema.
func Calls(s *tree.Source, node protoreflect.Message, void []int, unqualified *detect.Unqualified) []*Call {
	var out []*Call
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
func readCall(s *tree.Source, fc *pg_query.FuncCall, void []int, unqualified *detect.Unqualified) *Call {
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
	c := &Call{
		Span:  lex.Span{Start: s.Toks[first].Start, End: s.Toks[end].End},
		Node:  fc,
		Match: match,
	}
	c.bind(s, open, end, void)
	if c.Unqualified = words == 1; c.Unqualified && c.Bad != nil {
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

// Identifier is the call's name, quoted, as the server knows it: what a column or table that is
// named after the call is called.
func (c *Call) Identifier() string { return sqlfuncs.QuoteIdent(sqlfuncs.CutIdent(c.Match.Name)) }

// Native reports whether the call is served by an expression in its place that has an effect, and
// so must not be copied.
func (c *Call) Native() bool { return c.Match.Func.Effect == sqlfuncs.Native && !c.Match.Func.Prelude }
