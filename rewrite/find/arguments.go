package find

import (
	"slices"
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

// Argument is what a call gives for a parameter.
type Argument struct {
	lex.Span
	Node *pg_query.Node
}

// bind assigns the arguments between the parentheses, which are the tokens open and end, to the parameters.
func (c *Call) bind(s *tree.Source, open, end int, void []int) {
	spans := s.SplitArguments(open, end)
	c.List = make([]*pg_query.Node, 0, len(c.Node.Args))
	if len(spans) == len(c.Node.Args) {
		kept := spans[:0]
		for i, a := range c.Node.Args {
			if p := a.GetParamRef(); p == nil || !slices.Contains(void, int(p.Number)) {
				c.List, kept = append(c.List, a), append(kept, spans[i])
			}
		}
		spans = kept
	}
	types := make([]string, len(c.List))
	for i, a := range c.List {
		types[i] = evidentType(a)
	}
	refuse := func(detail string) { c.Bad = refuseArguments(c, types, detail) }

	fc := c.Node
	if fc.AggFilter != nil || fc.Over != nil || fc.AggDistinct || fc.AggStar || fc.AggWithinGroup || len(fc.AggOrder) > 0 {
		refuse("It is neither an aggregate nor a window function.")
		return
	}
	if fc.FuncVariadic || len(spans) != len(c.List) {
		refuse("It is not variadic.")
		return
	}
	params := c.Match.Func.Visible()
	c.Args = make(map[string]Argument, len(params))
	for i, a := range c.List {
		var p *sqlfuncs.Param
		sp := spans[i]
		if na := a.GetNamedArgExpr(); na != nil {
			p = paramNamed(params, na.Name)
			if p == nil {
				refuse(noParameter + na.Name + ".")
				return
			}
			// name, then => or :=, then the expression
			sp.Start = s.Toks[s.At(sp.Start)+2].Start
			a = na.Arg
		} else {
			if i >= len(params) {
				refuse(tooManyArguments)
				return
			}
			p = &params[c.place(i)]
			if p.Name == c.Match.Func.Wait && c.Match.Func.Implied > 0 { // old programs name the queue once more
				refuse(tooManyArguments)
				return
			}
		}
		if _, twice := c.Args[p.Name]; twice {
			refuse("Parameter " + p.Shown() + " is given twice.")
			return
		}
		if !plausible(a, p.Type) {
			refuse("Parameter " + p.Shown() + " is of type " + p.Type.String() + ".")
			if n := a.GetAConst().GetIval(); n != nil && p.Name == "cname" && plan.MayMeanAmount(c.Match.Func) {
				c.Bad.Hint = plan.AmountHint(strconv.Itoa(int(n.Ival)))
			}
			return
		}
		c.Args[p.Name] = Argument{sp, a}
	}
	for _, p := range params {
		_, given := c.Args[p.Name]
		_, instead := c.Args[p.Instead]
		switch {
		case given || instead:
		case p.Instead != "":
			refuse("Parameter " + p.Shown() + " or " + p.Instead + " is missing.")
			return
		case !p.Optional:
			refuse("Parameter " + p.Shown() + " is missing.")
			return
		}
	}
}

// place returns the index of the parameter that the argument at place i, which has no name, is for: its own, but in
// create_consumer('c', qname => 'q') the queue is given, so the other one is the consumer.
func (c *Call) place(i int) int {
	if i > 0 || !c.Match.Func.EitherOrder {
		return i
	}
	for _, a := range c.List {
		if na := a.GetNamedArgExpr(); na != nil && paramNamed(c.Match.Func.Params[:1], na.Name) != nil {
			return 1
		}
	}
	return i
}

// EitherOrder reports whether the call's first two arguments may stand in either order: neither is named.
func (c *Call) EitherOrder() bool {
	return c.Match.Func.EitherOrder && len(c.List) > 1 && c.List[0].GetNamedArgExpr() == nil && c.List[1].GetNamedArgExpr() == nil
}

// paramNamed returns the parameter with that name, in any case, or nil.
func paramNamed(params []sqlfuncs.Param, name string) *sqlfuncs.Param {
	name = sqlfuncs.Fold(name)
	for i := range params {
		if params[i].Name == name || (params[i].Alias != "" && params[i].Alias == name) {
			return &params[i]
		}
	}
	return nil
}

// evidentType returns the type of an argument as far as its text shows it, for error messages.
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
			return tree.NameOf(names[len(names)-1])
		}
	}
	return "unknown"
}

// plausible reports whether an argument may be of the type. It is false for constants that would need a cast.
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

// Constant reports whether an argument is the same for all rows and need not become a column. If it is no column, the
// planner looks for the queue once, and not for each row.
func Constant(n *pg_query.Node) bool {
	if na := n.GetNamedArgExpr(); na != nil {
		n = na.Arg
	}
	if tc := n.GetTypeCast(); tc != nil {
		n = tc.Arg
	}
	return n.GetAConst() != nil || n.GetParamRef() != nil
}

// Unbounded reports whether the call says with a null that it wants all rows there are.
func (c *Call) Unbounded() bool {
	a, given := c.Args[c.Match.Func.Amount]
	if !given {
		return false
	}
	n := a.Node
	for tc := n.GetTypeCast(); tc != nil; tc = n.GetTypeCast() {
		n = tc.Arg
	}
	return n.GetAConst().GetIsnull()
}

// ParamOf returns the parameter that argument i of the call is for.
func (c *Call) ParamOf(i int) sqlfuncs.Param {
	params := c.Match.Func.Visible()
	if na := c.List[i].GetNamedArgExpr(); na != nil {
		return *paramNamed(params, na.Name)
	}
	return params[c.place(i)]
}

// Param returns the parameter of that name of the call's function. All functions that one text serves have it.
func (c *Call) Param(name string) sqlfuncs.Param {
	for _, p := range c.Match.Func.Params {
		if p.Name == name {
			return p
		}
	}
	panic("rewrite: functions with one text and other parameters")
}
