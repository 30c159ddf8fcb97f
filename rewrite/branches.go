package rewrite

import (
	"fmt"
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"mbusproxy/sqlfuncs"
)

// choicesInSet is how many CASEs share a WITH query. Each row looks for its own there.
const choicesInSet = 24

// choice is a CASE whose branches hold calls.
type choice struct {
	rows  string // the WITH query in which it is
	n     int
	write func(o *output) // an expression for the number of the branch
	call  *call           // the one in whose row it is, instead
	at    int
}

// branch is a place in a CASE; the zero value is none.
type branch struct {
	of *choice
	n  int // 0 is ELSE
}

// look is a query for the branch that is taken.
func (k *choice) look() string {
	if k.call != nil {
		return k.call.chosen
	}
	return fmt.Sprintf("(select choice from %s where n = %d limit 1)", k.rows, k.n)
}

// harmless reports whether nothing of a branch can fail but its calls. The planner leaves a branch out, and computes
// nothing of it, where its condition is false whatever happens. That cannot be seen any more when the condition has moved.
func (st *statement) harmless(branch *pg_query.Node) bool {
	if branch == nil {
		return true
	}
	ok := true
	walkMessages(branch.ProtoReflect(), func(m protoreflect.Message) bool {
		switch n := m.Interface().(type) {
		case *pg_query.FuncCall:
			if c := st.callOf(n); c != nil {
				ok = ok && c.cannotFail()
				return false
			}
			ok = ok && len(st.below(m)) > 0
		case *pg_query.TypeCast:
			k := n.Arg.GetAConst() // what the parser casts fails there
			ok = ok && (k != nil && k.GetSval() != nil || len(st.below(m)) > 0)
		case *pg_query.Node, *pg_query.A_Const, *pg_query.ParamRef, *pg_query.String, *pg_query.TypeName, *pg_query.Integer, *pg_query.Boolean, *pg_query.Float:
		default:
			ok = ok && len(st.below(m)) > 0
		}
		return ok
	})
	return ok
}

// cannotFail reports whether the call's arguments may be evaluated though its branch is not taken: they are literals
// that the parser casts, or such that any cast takes.
func (c *call) cannotFail() bool {
	for p, a := range c.args {
		k := a.node.GetAConst()
		if k == nil && (a.node.GetParamRef() == nil || c.param(p).Type != sqlfuncs.Text) || k.GetFval() != nil {
			return false
		}
	}
	return !c.guarded && len(c.match.Readings) <= 1
}

// caseExpr places the calls in the branches of a CASE that is evaluated once. Its conditions move.
func (st *statement) caseExpr(node *pg_query.Node, n *pg_query.CaseExpr, ctx context) *Refusal {
	conditions := []*pg_query.Node{n.Arg}
	for _, w := range n.Args {
		conditions = append(conditions, w.GetCaseWhen().Expr)
	}
	if st.rows == nil || len(ctx.guards) > 0 || ctx.branch.of != nil || has(isAggregateNode, conditions...) || has(st.isStep, node) ||
		st.anyBelow(conditions, func(c *call) bool { return c.match.Func.Effect != sqlfuncs.Reads }) {
		return st.elsewhereNode(node, "CASE")
	}
	whens, thens, end, ok := st.src.branches(n)
	for _, w := range n.Args {
		ok = ok && st.harmless(w.GetCaseWhen().Result)
	}
	if !ok || !st.harmless(n.Defresult) {
		return st.elsewhereNode(node, "CASE")
	}
	if r := st.elsewhereAll(conditions, "CASE"); r != nil {
		return r
	}
	s, first := st.src, st.src.at(int(n.Location))
	k := &choice{at: s.toks[first].start}
	results := []*pg_query.Node{n.Defresult}
	for _, w := range n.Args {
		results = append(results, w.GetCaseWhen().Result)
	}
	if writes := st.writers(node); len(writes) == 1 && !has(isSubLink, results...) { // a subquery may have a point of its own
		k.call = writes[0]
	} else {
		st.choose(k, ctx.point)
	}
	k.write = func(o *output) {
		o.write("case ", k.at)
		if whens[0] > first+1 {
			st.ed.render(o, s.tokens(first+1, whens[0]))
		}
		for i, w := range whens {
			o.write(" when ", k.at)
			st.ed.render(o, s.tokens(w+1, thens[i]))
			o.write(" then "+strconv.Itoa(i+1), k.at)
		}
		o.write(" else 0 end", k.at)
	}
	into := func(i int, n *pg_query.Node) *Refusal {
		in := ctx
		in.branch = branch{k, i}
		return st.expr(n, in)
	}
	if c := st.callOf(n.Args[0].GetCaseWhen().Result.GetFuncCall()); c != nil && len(n.Args) == 1 && n.Defresult == nil && c.match.Func.Effect == sqlfuncs.Writes {
		// The result is null where the branch is not taken: the CASE is not needed.
		if r := into(1, n.Args[0].GetCaseWhen().Result); r != nil {
			return r
		}
		st.ed.add(s.tokens(first, end+1), func(o *output) { o.write(c.result("case"), k.at) })
		return nil
	}
	for i, w := range whens {
		text, from := fmt.Sprintf("when %d ", i+1), w
		if i == 0 {
			from = first + 1
		}
		st.ed.add(s.tokens(from, thens[i]), func(o *output) {
			if i == 0 {
				o.write(k.look()+" ", s.toks[from].start)
			}
			o.write(text, s.toks[from].start)
		})
	}
	for i, w := range n.Args {
		if r := into(i+1, w.GetCaseWhen().Result); r != nil {
			return r
		}
	}
	return into(0, n.Defresult)
}

// choose gives a CASE a row among those of a point.
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

// writers are the calls below a node that change something.
func (st *statement) writers(n *pg_query.Node) []*call {
	var out []*call
	for _, c := range st.below(n.ProtoReflect()) {
		if c.match.Func.Effect == sqlfuncs.Writes {
			out = append(out, c)
		}
	}
	return out
}

// branches finds the tokens WHEN and THEN of a CASE, and its END.
func (s *source) branches(n *pg_query.CaseExpr) (whens, thens []int, end int, ok bool) {
	i, depth := s.at(int(n.Location)), 0
	if s.kind(i) != pg_query.Token_CASE {
		return nil, nil, 0, false
	}
	for i++; ; i++ {
		i = s.find(i, len(s.toks), pg_query.Token_CASE, pg_query.Token_WHEN, pg_query.Token_THEN, pg_query.Token_END_P)
		switch k := s.kind(i); {
		case i < 0:
			return nil, nil, 0, false
		case s.kind(i-1) == tokDot: // a column of such a name
		case k == pg_query.Token_CASE:
			depth++
		case depth > 0 && k == pg_query.Token_END_P:
			depth--
		case depth > 0:
		case k == pg_query.Token_WHEN:
			whens = append(whens, i)
		case k == pg_query.Token_THEN:
			thens = append(thens, i)
		default:
			return whens, thens, i, len(whens) == len(n.Args) && len(thens) == len(n.Args)
		}
	}
}
