package place

import (
	"fmt"
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

// choicesInSet is the highest number of CASEs that share a WITH query. Each look-up reads that whole query.
const choicesInSet = 24

// choice is a CASE whose branches hold calls. Which branch is taken stands in a row of a WITH query.
type choice struct {
	rows  string // the name of the WITH query
	n     int
	write func(o *splice.Output) // writes an expression for the number of the branch that is taken
	call  *call                  // the only call in the branches, if there is only one: then the choice stands in the row of that call
	at    int
}

// branch is a branch of a CASE; the zero value stands for none.
type branch struct {
	of *choice
	n  int // counted from 1; 0 is ELSE
}

// look returns a query for the branch that is taken.
func (k *choice) look() string {
	return fmt.Sprintf("(select choice from %s where n = %d limit 1)", k.rows, k.n)
}

// harmless reports whether nothing in a branch can fail but its calls. Where the planner sees that
// a condition is always false, it leaves the branch out and computes nothing of it. It cannot see
// that once the condition has moved.
func (st *statement) harmless(branch *pg_query.Node) bool {
	if branch == nil {
		return true
	}
	ok := true
	tree.Walk(branch.ProtoReflect(), func(m protoreflect.Message) bool {
		switch n := m.Interface().(type) {
		case *pg_query.FuncCall:
			if c := st.callOf(n); c != nil {
				ok = ok && st.cannotFail(c)
				return false
			}
			ok = ok && len(st.below(m)) > 0
		case *pg_query.TypeCast:
			k := n.Arg.GetAConst() // a string is cast by the parser, and fails there in any case
			ok = ok && (k != nil && k.GetSval() != nil || len(st.below(m)) > 0)
		case *pg_query.Node, *pg_query.A_Const, *pg_query.ParamRef, *pg_query.String, *pg_query.TypeName, *pg_query.Integer, *pg_query.Boolean, *pg_query.Float:
		default:
			ok = ok && len(st.below(m)) > 0
		}
		return ok
	})
	return ok
}

// cannotFail reports whether the call's arguments may be evaluated though its branch is not taken:
// they are strings, which the parser casts, or nothing that a cast can refuse. A number may be too
// great for its cast, so the plan is pinned to it.
func (st *statement) cannotFail(c *call) bool {
	for p, a := range c.Args {
		k := a.Node.GetAConst()
		if k == nil && (a.Node.GetParamRef() == nil || c.Param(p).Type != sqlfuncs.Text) || k.GetFval() != nil {
			return false
		}
		if k.GetIval() != nil {
			st.plan.Pin(int(k.Location))
		}
	}
	return !c.guarded && len(c.Match.Readings) <= 1
}

// caseExpr places the calls in the branches of a CASE that is evaluated once. Its conditions move into a WITH query.
func (st *statement) caseExpr(node *pg_query.Node, n *pg_query.CaseExpr, ctx context) *plan.Refusal {
	conditions := []*pg_query.Node{n.Arg}
	for _, w := range n.Args {
		conditions = append(conditions, w.GetCaseWhen().Expr)
	}
	if st.rows == nil || len(ctx.guards) > 0 || ctx.branch.of != nil || tree.Has(tree.IsAggregate, node) || tree.Has(st.isPrelude, node) ||
		st.anyBelow(conditions, func(c *call) bool { return c.Match.Func.Effect != sqlfuncs.Reads }) {
		return st.elsewhereNode(node, "CASE")
	}
	words, ok := st.src.Branches(n)
	var results []*pg_query.Node
	for _, w := range n.Args {
		results = append(results, w.GetCaseWhen().Result)
	}
	results = append(results, n.Defresult)
	for _, r := range results {
		ok = ok && st.harmless(r)
	}
	if !ok {
		return st.elsewhereNode(node, "CASE")
	}
	if r := st.elsewhereAll(conditions, "CASE"); r != nil {
		return r
	}
	k := &choice{at: int(n.Location)}
	if writes := st.writers(node); len(writes) == 1 && !tree.Has(tree.IsSubLink, results...) { // which may have a point of its own
		k.call = writes[0]
	} else {
		st.choose(k, ctx.point)
	}
	k.write = func(o *splice.Output) { st.writeChoice(o, words) }
	for i, r := range results {
		in := ctx
		in.branch = branch{k, (i + 1) % len(results)} // ELSE is 0
		if r := st.expr(r, in); r != nil {
			return r
		}
	}
	st.moveConditions(node, k, words)
	return nil
}

// writeChoice writes the CASE with the number of each branch in its place.
func (st *statement) writeChoice(o *splice.Output, words tree.CaseWords) {
	s := st.src
	at := s.Toks[words.First].Start
	o.Write("case ", at)
	if words.Whens[0] > words.First+1 {
		st.ed.Render(o, s.Span(words.First+1, words.Whens[0]))
	}
	for i, w := range words.Whens {
		o.Write(" when ", at)
		st.ed.Render(o, s.Span(w+1, words.Thens[i]))
		o.Write(" then "+strconv.Itoa(i+1), at)
	}
	o.Write(" else 0 end", at)
}

// moveConditions puts the number of the branch that is taken in the place of the conditions. A CASE
// with one call becomes part of the query for that call's result, whose row has the number, too; a
// CASE that is nothing but the call becomes that query.
func (st *statement) moveConditions(node *pg_query.Node, k *choice, words tree.CaseWords) {
	s, c, n := st.src, k.call, node.GetCaseExpr()
	if c != nil && len(n.Args) == 1 && n.Defresult == nil && st.callOf(n.Args[0].GetCaseWhen().Result.GetFuncCall()) == c {
		st.ed.Add(s.Span(words.First, words.End+1), func(o *splice.Output) {
			o.Write("(select "+c.column+` as "case"`+c.from+")"+st.asRow(c), k.at)
		})
		return
	}
	for i, w := range words.Whens {
		before := ""
		switch {
		case i == 0 && c != nil:
			w, before = words.First, "(select case b "
		case i == 0:
			w, before = words.First, "case "+k.look()+" "
		}
		st.ed.Add(s.Span(w, words.Thens[i]), func(o *splice.Output) {
			o.Write(fmt.Sprintf("%swhen %d ", before, i+1), s.Toks[w].Start)
		})
	}
	if c == nil {
		return
	}
	st.ed.Replace(c.Span, func(o *splice.Output) { o.Write(c.column, c.Start) })
	name := tree.ColumnName(&pg_query.ResTarget{Val: node})
	st.ed.Add(s.Span(words.End, words.End+1), func(o *splice.Output) {
		o.Write("end as "+sqlfuncs.QuoteIdent(name)+c.from+")", k.at)
	})
}

// choose gives a CASE a row in a WITH query of a point.
func (st *statement) choose(k *choice, p *point) {
	at := st.rowsAt(p)
	k.n = len(at.choices)%choicesInSet + 1
	if k.n == 1 {
		st.choices++
		k.rows = fmt.Sprintf("%sk%d", st.prefix, st.choices)
	} else {
		k.rows = at.choices[len(at.choices)-1].rows
	}
	at.choices = append(at.choices, k)
}
