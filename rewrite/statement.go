package rewrite

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"mbusproxy/sqlfuncs"
)

// statement is one statement of the text while its calls are placed.
type statement struct {
	src       *source
	ed        *edits
	plan      *Plan
	fragments Fragments
	prefix    string // of the names of our own common table expressions
	env       Env
	calls     []*call // all of the statement, in the order of the text
	rowSets   int     // how many target lists were hoisted
	bound     bool    // $n is a parameter of the protocol
	// many says that the calls share WITH queries.
	many bool
	// sets are the last ones of their kind, setsAt all of a point; see placeInSet.
	sets   map[setKey]*callSet
	setsAt map[*point][]*callSet
	// rows are the calls by point while they are placed in rows, else nil; see inRows.
	rows    map[*point]*pointRows
	choices int  // how many WITH queries have choices
	checked bool // all that is left to refuse is the place of a call
	// byLocation, inTree and subtrees are made by indexCalls.
	byLocation map[int32]*call
	inTree     []*call
	subtrees   map[any]subtree
	// shared are the calls whose number others with the same key share; nil until the first has one.
	shared map[string]*call
	// parse parses a text that is a literal of the statement.
	parse func(text string) (*pg_query.ParseResult, error)
}

// region is a range of tokens [first, end) of the client's text; none has end 0.
type region struct{ first, end int }

func (r region) known() bool { return r.end > 0 }

// place finds a way to serve every call of the statement, or says why one cannot be served.
func (st *statement) place(stmt *pg_query.Node, reg region) *Refusal {
	for _, c := range st.calls {
		if c.bad != nil {
			return c.bad
		}
	}
	if r := first(
		func() *Refusal { return st.checkProcedures(stmt) },
		func() *Refusal { return st.checkSteps(stmt) },
	); r != nil {
		return r
	}
	st.bound = bindsParameters(stmt)
	st.shared = st.sharedNumbers(stmt)
	for _, c := range st.calls {
		if r := st.readValues(c); r != nil {
			return r
		}
	}
	for _, c := range st.calls {
		if r := st.checkCopied(c); r != nil {
			return r
		}
	}
	st.checked = true
	return st.placeAll(stmt, reg)
}

// placeAll places the calls of a statement that has been checked.
func (st *statement) placeAll(stmt *pg_query.Node, reg region) *Refusal {
	if r := st.container(stmt, reg); r != nil {
		return r
	}
	for _, c := range st.calls {
		if c.ref == nil {
			return refusePosition(c, "this place")
		}
	}
	return nil
}

// unplace takes back what calls are marked with when they are placed.
func (st *statement) unplace() {
	for _, c := range st.calls {
		c.ref, c.set, c.srf, c.named, c.wrapped, c.number = nil, nil, false, false, false, 0
	}
}

// checkCopied refuses calls that the server evaluates where they stand as arguments of a call that
// is served by an expression, which may hold an argument twice or not at all.
func (st *statement) checkCopied(c *call) *Refusal {
	if c.match.Func.Effect == sqlfuncs.Writes {
		return nil
	}
	for _, a := range c.list {
		for _, inner := range st.below(a.ProtoReflect()) {
			if inner.native() {
				return refusePosition(inner, "the arguments of "+sqlfuncs.Schema+"."+c.match.Name)
			}
		}
	}
	return nil
}

// container places the calls of a statement that may hold another.
func (st *statement) container(stmt *pg_query.Node, reg region) *Refusal {
	inner, at := stmt, reg
	where := ""
	switch n := stmt.Node.(type) {
	case *pg_query.Node_PrepareStmt:
		inner = n.PrepareStmt.Query
		at.first = st.src.find(reg.first, reg.end, pg_query.Token_AS) + 1
	case *pg_query.Node_ExplainStmt:
		inner = n.ExplainStmt.Query
		at.first = st.explained(reg.first + 1)
	case *pg_query.Node_CopyStmt:
		inner = n.CopyStmt.Query
		if inner == nil {
			return refusePosition(st.calls[0], "WHERE of COPY")
		}
		at.first = st.src.find(reg.first, reg.end, tokOpen) + 1
		at.end = st.src.toks[at.first-1].match
	case *pg_query.Node_CreateTableAsStmt:
		if n.CreateTableAsStmt.Objtype != pg_query.ObjectType_OBJECT_TABLE {
			where = placeView
			break
		}
		inner = n.CreateTableAsStmt.Query
		at.first = st.src.find(reg.first, reg.end, pg_query.Token_AS) + 1
		at.end = st.withoutWithData(at.end)
	case *pg_query.Node_DeclareCursorStmt:
		where = "DECLARE CURSOR"
	case *pg_query.Node_ViewStmt:
		where = placeView
	case *pg_query.Node_CallStmt:
		if c := st.callOf(n.CallStmt.Funccall); c != nil {
			st.placeExpr(c)
			return nil
		}
		return refusePosition(st.calls[0], "the arguments of a procedure") // no subquery may stand there
	case *pg_query.Node_ExecuteStmt:
		return refusePosition(st.calls[0], "the arguments of EXECUTE")
	}
	if where != "" {
		return st.elsewhere(stmt.ProtoReflect(), where)
	}
	return st.top(inner, at)
}

// explained returns where the statement behind EXPLAIN and its options starts.
func (st *statement) explained(i int) int {
	s := st.src
	if s.kind(i) == tokOpen {
		switch s.kind(i + 1) {
		case pg_query.Token_SELECT, pg_query.Token_WITH, pg_query.Token_VALUES, tokOpen:
		default:
			return s.next(i)
		}
	}
	for s.kind(i) == pg_query.Token_ANALYZE || s.kind(i) == pg_query.Token_ANALYSE || s.kind(i) == pg_query.Token_VERBOSE {
		i++
	}
	return i
}

// withoutWithData cuts WITH [NO] DATA off the end of CREATE TABLE AS.
func (st *statement) withoutWithData(end int) int {
	s := st.src
	if s.kind(end-1) != pg_query.Token_DATA_P {
		return end
	}
	if s.kind(end-2) == pg_query.Token_NO {
		end--
	}
	return end - 2
}

// top places the calls of a statement that may carry a WITH clause of its own at the top.
func (st *statement) top(stmt *pg_query.Node, reg region) *Refusal {
	if stmt == nil {
		return nil
	}
	var with *pg_query.WithClause
	switch n := stmt.Node.(type) {
	case *pg_query.Node_SelectStmt:
		with = n.SelectStmt.WithClause
	case *pg_query.Node_InsertStmt:
		with = n.InsertStmt.WithClause
	case *pg_query.Node_UpdateStmt:
		with = n.UpdateStmt.WithClause
	case *pg_query.Node_DeleteStmt:
		with = n.DeleteStmt.WithClause
	case *pg_query.Node_MergeStmt:
		with = n.MergeStmt.WithClause
	default:
		return st.elsewhere(stmt.ProtoReflect(), "this statement")
	}
	ctx := context{}
	if with == nil {
		ctx.point = st.newPoint(st.src.toks[reg.first].start, "with ", " ")
		return st.body(stmt, ctx, reg)
	}
	body, refusal := st.with(stmt, with, reg)
	if refusal != nil {
		return refusal
	}
	ctx.point = st.newPoint(st.src.toks[body.first-1].end, ", ", "")
	return st.body(stmt, ctx, body)
}

// body places the calls of a statement without regard to its WITH clause.
func (st *statement) body(stmt *pg_query.Node, ctx context, reg region) *Refusal {
	switch n := stmt.Node.(type) {
	case *pg_query.Node_SelectStmt:
		return st.selectBody(n.SelectStmt, ctx, reg)
	case *pg_query.Node_InsertStmt:
		return st.insert(n.InsertStmt, ctx, reg)
	case *pg_query.Node_UpdateStmt:
		u := n.UpdateStmt
		return first(
			func() *Refusal {
				return st.from(u.FromClause, ctx.gatedBy(st, u.WhereClause, nil, reg))
			},
			func() *Refusal { return st.elsewhereAll(u.TargetList, "SET of UPDATE") },
			func() *Refusal { return st.elsewhereNode(u.WhereClause, "WHERE") },
			func() *Refusal { return st.returning(u.ReturningList) },
		)
	case *pg_query.Node_DeleteStmt:
		d := n.DeleteStmt
		return first(
			func() *Refusal {
				return st.from(d.UsingClause, ctx.gatedBy(st, d.WhereClause, nil, reg))
			},
			func() *Refusal { return st.elsewhereNode(d.WhereClause, "WHERE") },
			func() *Refusal { return st.returning(d.ReturningList) },
		)
	case *pg_query.Node_MergeStmt:
		m := n.MergeStmt
		return first(
			func() *Refusal { return st.from([]*pg_query.Node{m.SourceRelation}, ctx) },
			func() *Refusal { return st.elsewhereNode(m.JoinCondition, "ON of MERGE") },
			func() *Refusal { return st.elsewhereAll(m.MergeWhenClauses, "MERGE") },
		)
	}
	return st.elsewhere(stmt.ProtoReflect(), "this statement")
}

func (st *statement) insert(n *pg_query.InsertStmt, ctx context, reg region) *Refusal {
	if r := first(
		func() *Refusal { return st.returning(n.ReturningList) },
		func() *Refusal {
			if n.OnConflictClause == nil {
				return nil
			}
			return st.elsewhere(n.OnConflictClause.ProtoReflect(), "ON CONFLICT")
		},
	); r != nil {
		return r
	}
	sel := n.SelectStmt.GetSelectStmt()
	if sel == nil {
		return nil
	}
	if sel.WithClause != nil {
		return st.elsewhere(sel.ProtoReflect(), "INSERT … WITH (put WITH before INSERT)")
	}
	at := region{}
	if i := st.src.find(reg.first, reg.end, pg_query.Token_SELECT); i >= 0 && sel.Op == pg_query.SetOperation_SETOP_NONE {
		at = region{i, reg.end}
		if j := st.src.find(i, reg.end, pg_query.Token_RETURNING); j >= 0 {
			at.end = j
		}
		for j := i; ; j++ {
			if j = st.src.find(j, at.end, pg_query.Token_ON); j < 0 {
				break
			}
			if st.src.kind(j+1) == pg_query.Token_CONFLICT {
				at.end = j
				break
			}
		}
	}
	return st.selectBody(sel, ctx, at)
}

// elsewhere deals with the calls below node, which stands where only calls that an expression serves
// can be served.
func (st *statement) elsewhere(node protoreflect.Message, where string) *Refusal {
	for _, c := range st.below(node) {
		if c.ref != nil {
			continue
		}
		if c.match.Func.Effect == sqlfuncs.Writes || c.match.Func.Step {
			return refusePosition(c, where)
		}
		st.placeExpr(c)
	}
	var found *Refusal
	walkMessages(node, func(m protoreflect.Message) bool {
		switch n := m.Interface().(type) {
		case *pg_query.SelectStmt:
			st.nameTargets(n.TargetList)
		case *pg_query.RangeFunction:
			found = st.exprInFrom(n)
		}
		return found == nil
	})
	return found
}

func (st *statement) elsewhereNode(n *pg_query.Node, where string) *Refusal {
	if n == nil {
		return nil
	}
	return st.elsewhere(n.ProtoReflect(), where)
}

func (st *statement) elsewhereAll(nodes []*pg_query.Node, where string) *Refusal {
	for _, n := range nodes {
		if r := st.elsewhereNode(n, where); r != nil {
			return r
		}
	}
	return nil
}

// returning deals with the calls in a RETURNING list.
func (st *statement) returning(list []*pg_query.Node) *Refusal {
	r := st.elsewhereAll(list, "RETURNING")
	st.nameTargets(list)
	return r
}

// below returns the calls of the statement that lie below node.
func (st *statement) below(node protoreflect.Message) []*call {
	t := st.subtrees[node.Interface()]
	return st.inTree[t.from:t.to]
}

// writesBelow reports whether a call that common table expressions serve lies below one of nodes.
func (st *statement) writesBelow(nodes ...*pg_query.Node) bool {
	return st.anyBelow(nodes, func(c *call) bool { return c.match.Func.Effect == sqlfuncs.Writes })
}

func (st *statement) anyBelow(nodes []*pg_query.Node, test func(*call) bool) bool {
	for _, n := range nodes {
		if n != nil && slices.ContainsFunc(st.below(n.ProtoReflect()), test) {
			return true
		}
	}
	return false
}

// nativeBelow returns the first call below nodes whose expression must not be copied, or nil.
func (st *statement) nativeBelow(nodes ...*pg_query.Node) *call {
	for _, n := range nodes {
		if n == nil {
			continue
		}
		for _, c := range st.below(n.ProtoReflect()) {
			if c.native() {
				return c
			}
		}
	}
	return nil
}

// first runs the steps up to the first refusal.
func first(steps ...func() *Refusal) *Refusal {
	for _, step := range steps {
		if r := step(); r != nil {
			return r
		}
	}
	return nil
}

// point is a place in a WITH clause, existing or to be made, where expressions of ours go.
type point struct {
	pos           int
	before, after string
	ctes          []func(o *output)
	st            *statement
}

func (st *statement) newPoint(pos int, before, after string) *point {
	return &point{pos: pos, before: before, after: after, st: st}
}

// add appends an expression, or a list of them; emit writes it without commas around.
func (p *point) add(emit func(o *output)) {
	p.ctes = append(p.ctes, emit)
	if len(p.ctes) > 1 {
		return
	}
	p.st.ed.insert(p.pos, func(o *output) {
		o.write(p.before, p.pos)
		for i, cte := range p.ctes {
			if i > 0 {
				o.write(", ", p.pos)
			}
			cte(o)
		}
		o.write(p.after, p.pos)
	})
}

// number gives a call the next number of the text, and returns the name of what is its own.
func (st *statement) number(c *call) string {
	st.plan.calls = append(st.plan.calls, callSite{c.span, kindOfCalled(c.match.Func), c.match.Name, c.match.Func.Signature(c.match.Name), c.match.Func.Set})
	c.number = len(st.plan.calls)
	return fmt.Sprintf("%scall%d", st.prefix, c.number)
}

// numberShared gives a call that an expression serves its number, which may be that of an equal one.
func (st *statement) numberShared(c *call) string {
	key := st.key(c)
	first, shares := st.shared[key]
	if first != nil {
		c.number = first.number
		return fmt.Sprintf("%scall%d", st.prefix, c.number)
	}
	if shares {
		st.shared[key] = c
	}
	return st.number(c)
}
