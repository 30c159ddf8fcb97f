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
	call  *call           // the only one in its branches, in whose row it is instead
	at    int
}

// branch is a place in a CASE; the zero value is none.
type branch struct {
	of *choice
	n  int // 0 is ELSE
}

// look is a query for the branch that is taken.
func (k *choice) look() string {
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
				ok = ok && st.cannotFail(c)
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
// that the parser casts, or such that any cast takes. A number may be too great for its cast, so the plan holds for it only.
func (st *statement) cannotFail(c *call) bool {
	for p, a := range c.args {
		k := a.node.GetAConst()
		if k == nil && (a.node.GetParamRef() == nil || c.param(p).Type != sqlfuncs.Text) || k.GetFval() != nil {
			return false
		}
		if k.GetIval() != nil {
			st.plan.pins = append(st.plan.pins, int(k.Location))
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
	if st.rows == nil || len(ctx.guards) > 0 || ctx.branch.of != nil || has(isAggregateNode, node) || has(st.isStep, node) ||
		st.anyBelow(conditions, func(c *call) bool { return c.match.Func.Effect != sqlfuncs.Reads }) {
		return st.elsewhereNode(node, "CASE")
	}
	words, ok := st.src.branches(n)
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
	if writes := st.writers(node); len(writes) == 1 && !has(isSubLink, results...) { // a subquery may have a point of its own
		k.call = writes[0]
	} else {
		st.choose(k, ctx.point)
	}
	k.write = func(o *output) { st.writeChoice(o, words) }
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

// writeChoice writes the CASE with numbers in place of the branches.
func (st *statement) writeChoice(o *output, words caseWords) {
	s := st.src
	at := s.toks[words.first].start
	o.write("case ", at)
	if words.whens[0] > words.first+1 {
		st.ed.render(o, s.tokens(words.first+1, words.whens[0]))
	}
	for i, w := range words.whens {
		o.write(" when ", at)
		st.ed.render(o, s.tokens(w+1, words.thens[i]))
		o.write(" then "+strconv.Itoa(i+1), at)
	}
	o.write(" else 0 end", at)
}

// moveConditions puts the number of the branch in the place of the conditions. A CASE with one call moves altogether
// into the look for its result, which finds the number in the same row; one that is nothing but the call is that look.
func (st *statement) moveConditions(node *pg_query.Node, k *choice, words caseWords) {
	s, c, n := st.src, k.call, node.GetCaseExpr()
	if c != nil && len(n.Args) == 1 && n.Defresult == nil && st.callOf(n.Args[0].GetCaseWhen().Result.GetFuncCall()) == c {
		st.ed.add(s.tokens(words.first, words.end+1), func(o *output) {
			o.write("(select "+c.column+` as "case"`+c.from+")"+st.asRow(c), k.at)
		})
		return
	}
	for i, w := range words.whens {
		before := ""
		switch {
		case i == 0 && c != nil:
			w, before = words.first, "(select case b "
		case i == 0:
			w, before = words.first, "case "+k.look()+" "
		}
		st.ed.add(s.tokens(w, words.thens[i]), func(o *output) {
			o.write(fmt.Sprintf("%swhen %d ", before, i+1), s.toks[w].start)
		})
	}
	if c == nil {
		return
	}
	st.ed.replace(c.span, func(o *output) { o.write(c.column, c.start) })
	name := columnName(&pg_query.ResTarget{Val: node})
	st.ed.add(s.tokens(words.end, words.end+1), func(o *output) {
		o.write("end as "+sqlfuncs.QuoteIdent(name)+c.from+")", k.at)
	})
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

// caseWords are the tokens of a CASE: itself, those of its branches, END.
type caseWords struct {
	first        int
	whens, thens []int
	end          int
}

// branches finds the words of a CASE.
func (s *source) branches(n *pg_query.CaseExpr) (w caseWords, ok bool) {
	w.first = s.at(int(n.Location))
	if s.kind(w.first) != pg_query.Token_CASE {
		return w, false
	}
	depth := 0
	for i := w.first + 1; ; i++ {
		i = s.find(i, len(s.toks), pg_query.Token_CASE, pg_query.Token_WHEN, pg_query.Token_THEN, pg_query.Token_END_P)
		switch k := s.kind(i); {
		case i < 0:
			return w, false
		case s.kind(i-1) == tokDot: // a column of such a name
		case k == pg_query.Token_CASE:
			depth++
		case depth > 0 && k == pg_query.Token_END_P:
			depth--
		case depth > 0:
		case k == pg_query.Token_WHEN:
			w.whens = append(w.whens, i)
		case k == pg_query.Token_THEN:
			w.thens = append(w.thens, i)
		default:
			w.end = i
			return w, len(w.whens) == len(n.Args) && len(w.thens) == len(n.Args)
		}
	}
}
