package rewrite

import (
	"slices"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"mbusproxy/sqlfuncs"
)

// call is one call of a served function.
type call struct {
	span   // from the function's name to the closing parenthesis
	node   *pg_query.FuncCall
	match  sqlfuncs.Match
	list   []*pg_query.Node    // the arguments in the order of the text
	args   map[string]argument // what the caller gives, under the parameters' first names
	values map[string]given    // what must be known of them before the statement runs
	bad    *Refusal            // the arguments do not fit
	number int                 // 1-based, in the order in which the calls are placed

	// ref writes the reference to the call's result that stands where the call stood; nil until
	// the call is placed.
	ref func(o *output)
	// column and from are where the result of a call that is a row is found; see callRows.
	column, from string
	// set is the set that the call stands in; nil for none.
	set *callSet
	// srf says that the reference is a set.
	srf bool
	// function says that a function in the database serves the call, in place.
	function bool
	// named says that the column which the call names has got its name.
	named bool
	// wrapped says that in FROM a function has got around the reference.
	wrapped bool
	// unqualified says that the call names no schema, guarded that it must look for itself whether it is
	// still ours.
	unqualified, guarded bool
}

// argument is what a caller gives for a parameter.
type argument struct {
	span
	node *pg_query.Node
}

// findCalls returns the calls below node in the order of the text. void lists the parameters that
// are no arguments, unqualified the names that are served without the schema.
func (s *source) findCalls(node protoreflect.Message, void []int, unqualified *Unqualified) []*call {
	var out []*call
	walkMessages(node, func(m protoreflect.Message) bool {
		fc, ok := m.Interface().(*pg_query.FuncCall)
		if !ok {
			return true
		}
		if c := s.readCall(fc, void, unqualified); c != nil {
			out = append(out, c)
		}
		return true
	})
	return out
}

// walkMessages visits m and all that it holds, parents first, in the order of the fields. It does
// not go below a message for which visit returns false.
func walkMessages(m protoreflect.Message, visit func(protoreflect.Message) bool) {
	if !visit(m) {
		return
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() != protoreflect.MessageKind:
		case fd.IsList():
			l := v.List()
			for i := 0; i < l.Len(); i++ {
				walkMessages(l.Get(i).Message(), visit)
			}
		default:
			walkMessages(v.Message(), visit)
		}
		return true
	})
}

// readCall returns the call that fc is, or nil when it is none of ours.
func (s *source) readCall(fc *pg_query.FuncCall, void []int, unqualified *Unqualified) *call {
	var match sqlfuncs.Match
	var ok bool
	words := 3 // schema, dot, function
	switch {
	case len(fc.Funcname) == 1:
		words = 1
		match, ok = unqualified.lookup(nameOf(fc.Funcname[0]))
	case len(fc.Funcname) == 2 && nameOf(fc.Funcname[0]) == sqlfuncs.Schema:
		match, ok = sqlfuncs.Lookup(nameOf(fc.Funcname[1]))
	}
	if !ok {
		return nil
	}
	first := s.at(int(fc.Location))
	open := first + words
	if first < 0 || s.kind(open) != tokOpen {
		return nil
	}
	end := s.toks[open].match
	c := &call{
		span:  span{s.toks[first].start, s.toks[end].end},
		node:  fc,
		match: match,
	}
	c.bind(s, open, end, void)
	if c.unqualified = words == 1; c.unqualified && c.bad != nil {
		return nil // the server knows no such function, either
	}
	return c
}

// native reports whether the server evaluates the call where it stands, with an effect.
func (c *call) native() bool { return c.match.Func.Effect == sqlfuncs.Native && !c.match.Func.Step }

func nameOf(n *pg_query.Node) string { return n.GetString_().GetSval() }

// bind assigns the arguments between the parentheses open and end to the parameters.
func (c *call) bind(s *source, open, end int, void []int) {
	spans := s.splitArgs(open, end)
	c.list = make([]*pg_query.Node, 0, len(c.node.Args))
	if len(spans) == len(c.node.Args) {
		kept := spans[:0]
		for i, a := range c.node.Args {
			if p := a.GetParamRef(); p == nil || !slices.Contains(void, int(p.Number)) {
				c.list, kept = append(c.list, a), append(kept, spans[i])
			}
		}
		spans = kept
	}
	types := make([]string, len(c.list))
	for i, a := range c.list {
		types[i] = evidentType(a)
	}
	refuse := func(detail string) { c.bad = refuseArguments(c, types, detail) }

	fc := c.node
	if fc.AggFilter != nil || fc.Over != nil || fc.AggDistinct || fc.AggStar || fc.AggWithinGroup || len(fc.AggOrder) > 0 {
		refuse("It is neither an aggregate nor a window function.")
		return
	}
	if fc.FuncVariadic || len(spans) != len(c.list) {
		refuse("It is not variadic.")
		return
	}
	params := c.match.Func.Visible()
	c.args = make(map[string]argument, len(params))
	for i, a := range c.list {
		var p *sqlfuncs.Param
		sp := spans[i]
		if na := a.GetNamedArgExpr(); na != nil {
			p = paramNamed(params, na.Name)
			if p == nil {
				refuse("It has no parameter named " + na.Name + ".")
				return
			}
			// name, then => or :=, then the expression
			sp.start = s.toks[s.at(sp.start)+2].start
			a = na.Arg
		} else {
			if i >= len(params) {
				refuse("Too many arguments.")
				return
			}
			p = &params[i]
		}
		if _, twice := c.args[p.Name]; twice {
			refuse("Parameter " + p.Shown() + " is given twice.")
			return
		}
		if !plausible(a, p.Type) {
			refuse("Parameter " + p.Shown() + " is of type " + p.Type.String() + ".")
			return
		}
		c.args[p.Name] = argument{sp, a}
	}
	for _, p := range params {
		if _, given := c.args[p.Name]; !given && !p.Optional {
			refuse("Parameter " + p.Shown() + " is missing.")
			return
		}
	}
}

func paramNamed(params []sqlfuncs.Param, name string) *sqlfuncs.Param {
	name = strings.ToLower(name)
	for i := range params {
		if params[i].Name == name || (params[i].Alias != "" && params[i].Alias == name) {
			return &params[i]
		}
	}
	return nil
}

// splitArgs returns the texts between the commas of the parentheses open and end.
func (s *source) splitArgs(open, end int) []span {
	if open+1 == end {
		return nil
	}
	var out []span
	from := open + 1
	for {
		comma := s.find(from, end, tokComma)
		if comma < 0 {
			return append(out, s.tokens(from, end))
		}
		out = append(out, s.tokens(from, comma))
		from = comma + 1
	}
}

// evidentType names the type of an argument where its text shows it, for error messages.
func evidentType(n *pg_query.Node) string {
	if na := n.GetNamedArgExpr(); na != nil {
		return na.Name + " => " + evidentType(na.Arg)
	}
	if c := n.GetAConst(); c != nil {
		switch {
		case c.GetIval() != nil:
			return "integer"
		case c.GetFval() != nil:
			return "numeric"
		case c.GetBoolval() != nil:
			return "boolean"
		}
	}
	if tc := n.GetTypeCast(); tc != nil {
		if names := tc.GetTypeName().GetNames(); len(names) > 0 {
			return nameOf(names[len(names)-1])
		}
	}
	return "unknown"
}

// plausible is false for constants that Postgres would not take for the type without a cast.
func plausible(n *pg_query.Node, t sqlfuncs.Type) bool {
	c := n.GetAConst()
	if c == nil || c.Isnull || c.GetSval() != nil {
		return true
	}
	switch t {
	case sqlfuncs.Integer:
		return c.GetIval() != nil
	case sqlfuncs.BigInt:
		if f := c.GetFval(); f != nil { // what does not fit an int4 is a float to the parser
			_, err := strconv.ParseInt(f.Fval, 10, 64)
			return err == nil
		}
		return c.GetIval() != nil
	case sqlfuncs.Double:
		return c.GetIval() != nil || c.GetFval() != nil
	case sqlfuncs.Boolean:
		return c.GetBoolval() != nil
	}
	return false
}
