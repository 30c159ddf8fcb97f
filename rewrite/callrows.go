package rewrite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"mbusproxy/sqlfuncs"
)

// The server parses and plans the body of a function once for each place in the text that calls it, which takes it
// ten to forty times as long as a call. So where many calls are served by functions, each of which is evaluated once
// at most, they become the rows of a WITH query in which each function is called in one place:
//
//	with k(n, choice) as materialized (values (1, case when <a condition> then 1 else 0 end), …),
//	     r_a(n, f, k, b, h1, h2, …) as (values (1, 1, 1, 1, <arguments>), …),
//	     r as materialized (select a.n, case when a.f = 1 then mbus4.at_post(a.h1, …) end as f1, … from r_a a
//	                        where a.k is null or a.b = (select k.choice from k where k.n = a.k limit 1))
//	values (case (select choice from k where n = 1 limit 1) when 1 then (select f1 from r where n = 1) … end), …
//
// f says which function a row is for, k and b in which branch of which CASE the call stands. The rows are in the order
// of the text, and a scan evaluates one after the other: so each function sees what those before it did, as if it
// stood where the call stands. The conditions of a CASE are evaluated once, when its first row is come to (LIMIT 1
// keeps the scan from going further).
//
// What cannot stand in a row makes all calls of the statement functions where they stand.

// callRows is some of the calls of a statement, in the order of the text.
type callRows struct {
	st      *statement
	name    string
	calls   []*call
	kinds   []int               // of each, an index of exprs
	guards  [][]func(o *output) // of the place of each
	branch  []branch
	exprs   []rowExpr
	columns []string // their types
}

// rowExpr is one of the functions, called for those rows that ask for it.
type rowExpr struct {
	text    string
	columns map[string]int // by parameter
}

// choice is a CASE whose branches hold calls.
type choice struct {
	rows  string // the WITH query in which it is
	n     int
	write func(o *output) // an expression for the number of the branch
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

// pointRows is what a point has of both.
type pointRows struct {
	rows    []*callRows
	choices []*choice
}

// inRows serves the calls of a statement by rows, each call by a function; or it returns a refusal, and the calls
// are as before.
func (st *statement) inRows(stmt *pg_query.Node, reg region) *Refusal {
	st.unplace()
	st.rows = map[*point]*pointRows{}
	defer func() { st.rows = nil }()
	st.shared = st.sharedNumbers(stmt)
	return st.placeAll(stmt, reg)
}

// rowsAt returns what a point has, which may be nothing yet.
func (st *statement) rowsAt(p *point) *pointRows {
	r := st.rows[p]
	if r == nil {
		r = &pointRows{}
		st.rows[p] = r
		p.add(func(o *output) { r.write(o) })
	}
	return r
}

// placeInRow serves a call that is evaluated once, if it is come to.
func (st *statement) placeInRow(c *call, ctx context) *Refusal {
	f := c.match.Func
	// A call in the arguments of another would have to be in an earlier row than this, and behind those before it.
	if f.Set || f.Step || len(f.Params) == 0 || len(c.boundArgs()) > 0 || hasOutside(st.isSet, c.list...) || st.writesBelow(c.list...) ||
		ctx.branch.of != nil && len(ctx.guards) > 0 {
		return refusePosition(c, placeMany)
	}
	at := st.rowsAt(ctx.point)
	var rows *callRows
	if len(at.rows) > 0 {
		rows = at.rows[len(at.rows)-1]
	}
	name := st.number(c)
	if rows == nil || len(rows.calls) == callsInSet || ctx.branch.of != nil && rows.choices() != "" && rows.choices() != ctx.branch.of.rows {
		rows = &callRows{st: st, name: name}
		at.rows = append(at.rows, rows)
	}
	use := sqlfuncs.Use{Given: map[string]bool{}, Ordered: st.env.Ordered, Selective: st.env.Selective, InPlace: true, Numbered: true}
	for p := range c.args {
		use.Given[p] = true
	}
	st.plan.headers = st.plan.headers || use.Given["headers"]
	kind := rows.kind(f, st.fragments.Fragment(f, use).Expr)
	rows.calls, rows.kinds, rows.guards, rows.branch = append(rows.calls, c), append(rows.kinds, kind), append(rows.guards, ctx.guards), append(rows.branch, ctx.branch)
	c.result = func(name string) string {
		// Volatile, as the call was: see placeInSet.
		return fmt.Sprintf("(select f%d as %s from %s where n = %d and pg_catalog.clock_timestamp() is not null)%s",
			kind+1, sqlfuncs.QuoteIdent(name), rows.name, c.number, st.asRow(c))
	}
	c.ref = func(o *output) { o.write(c.result(c.match.Name), c.start) }
	st.ed.add(c.span, c.ref)
	return nil
}

// choices is the WITH query in which the rows' choices are; "" where they have none.
func (r *callRows) choices() string {
	for _, b := range r.branch {
		if b.of != nil {
			return b.of.rows
		}
	}
	return ""
}

// kind returns the index of the function's expression. Functions share the columns of their arguments' types.
func (r *callRows) kind(f *sqlfuncs.Func, text string) int {
	if i := slices.IndexFunc(r.exprs, func(e rowExpr) bool { return e.text == text }); i >= 0 {
		return i
	}
	e := rowExpr{text: text, columns: map[string]int{}}
	from := map[string]int{} // by type, behind the columns that the function has
	for _, p := range f.Params {
		if !strings.Contains(text, "{"+p.Name+"}") {
			continue
		}
		t := p.Type.SQL(r.st.env.HstoreSchema)
		i := slices.Index(r.columns[from[t]:], t) + from[t]
		if i < from[t] {
			i = len(r.columns)
			r.columns = append(r.columns, t)
		}
		e.columns[p.Name], from[t] = i, i+1
	}
	r.exprs = append(r.exprs, e)
	return len(r.exprs) - 1
}

// column is the name of column i of the rows.
func column(i int) string { return "h" + strconv.Itoa(i+1) }

func (r *pointRows) write(o *output) {
	for i, k := range r.choices {
		if i%callsInSet == 0 {
			o.write(k.rows+"(n, choice) as materialized (values ", k.at)
		} else {
			o.write(", ", k.at)
		}
		o.write(fmt.Sprintf("(%d, ", k.n), k.at)
		k.write(o)
		o.write(")", k.at)
		if i%callsInSet == callsInSet-1 || i == len(r.choices)-1 {
			o.write("), ", k.at)
		}
	}
	for i, rows := range r.rows {
		if i > 0 {
			o.write(", ", rows.calls[0].start)
		}
		rows.write(o)
	}
}

func (r *callRows) write(o *output) {
	at, choices := r.calls[0].start, r.choices()
	o.write(r.name+"_a(n, f", at)
	if choices != "" {
		o.write(", k, b", at)
	}
	for i := range r.columns {
		o.write(", "+column(i), at)
	}
	o.write(") as (", at)
	before, between, after := "values (", ", (", ")"
	if slices.ContainsFunc(r.guards, func(g []func(*output)) bool { return len(g) > 0 }) {
		before, between, after = "select ", " union all select ", ""
	}
	for i, c := range r.calls {
		if i > 0 {
			before = between
		}
		o.write(fmt.Sprintf("%s%d::bigint, %d", before, c.number, r.kinds[i]+1), c.start)
		switch k := r.branch[i]; {
		case k.of != nil:
			o.write(fmt.Sprintf(", %d, %d", k.of.n, k.n), c.start)
		case choices != "":
			o.write(", null::int, null::int", c.start)
		}
		r.writeRow(o, i)
		for j, g := range r.guards[i] {
			o.write([]string{" where ", " and "}[min(j, 1)], c.start)
			g(o)
		}
		o.write(after, c.start)
	}
	o.write("), "+r.name+" as materialized (select a.n", at)
	for i, e := range r.exprs {
		o.write(fmt.Sprintf(", case when a.f = %d then ", i+1), at)
		o.writeMarked(strings.ReplaceAll(e.text, "{k.a}", "'||a.n||' {secret}"), "", at, func(placeholder string) (string, func()) {
			if j, ok := e.columns[placeholder[1:len(placeholder)-1]]; ok {
				return "a." + column(j), nil
			}
			return r.st.fixed(r.calls[slices.Index(r.kinds, i)], placeholder), nil
		})
		o.write(" end as f"+strconv.Itoa(i+1), at)
	}
	o.write(" from "+r.name+"_a a", at)
	if choices != "" {
		o.write(" where a.k is null or a.b = (select k.choice from "+choices+" k where k.n = a.k limit 1)", at)
	}
	o.write(")", at)
}

// writeRow writes the arguments of call i.
func (r *callRows) writeRow(o *output, i int) {
	st, c := r.st, r.calls[i]
	given := map[int]string{}
	for p, column := range r.exprs[r.kinds[i]].columns {
		given[column] = p
	}
	for j, t := range r.columns {
		o.write(", ", c.start)
		p, ok := given[j]
		switch {
		case !ok && i == 0:
			o.write("null::"+t, c.start)
		case !ok:
			o.write("null", c.start)
		default:
			st.writeArg(o, c, c.param(p))
		}
	}
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
	at := st.rowsAt(ctx.point)
	k := &choice{n: len(at.choices)%callsInSet + 1, at: s.toks[first].start}
	if k.n == 1 {
		st.choices++
		k.rows = fmt.Sprintf("%sk%d", st.prefix, st.choices)
	} else {
		k.rows = at.choices[len(at.choices)-1].rows
	}
	at.choices = append(at.choices, k)
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
		// No row, no result: the CASE is not needed.
		if r := into(1, n.Args[0].GetCaseWhen().Result); r != nil {
			return r
		}
		st.ed.add(s.tokens(first, end+1), func(o *output) { o.write(c.result("case"), k.at) })
		return nil
	}
	for i, w := range whens {
		text, from := fmt.Sprintf("when %d ", i+1), w
		if i == 0 {
			text, from = k.look()+" "+text, first+1
		}
		st.ed.add(s.tokens(from, thens[i]), func(o *output) { o.write(text, s.toks[from].start) })
	}
	for i, w := range n.Args {
		if r := into(i+1, w.GetCaseWhen().Result); r != nil {
			return r
		}
	}
	return into(0, n.Defresult)
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
