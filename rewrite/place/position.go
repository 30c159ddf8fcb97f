package place

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

// context says what the position of a call means for how the call is served. It is passed down the tree by value.
type context struct {
	point *point // where the WITH queries that do the work go
	// guards are conditions above the position without columns, such as LIMIT 0 or WHERE $1. Where
	// one is false Postgres does not evaluate the position at all, and so the work must not be
	// done, either. Each function writes a condition.
	guards []func(o *splice.Output)
	// beside says that the position is an item of FROM with others beside it, to which arguments may refer.
	beside bool
	// columns says that the position is all of a FROM of which nothing is read but columns.
	columns bool
	// reads has these columns' names, or nil for all.
	reads []string
	// limited says that Postgres may not read all rows of the query.
	limited bool
	// branch is the branch of a CASE in which the place is.
	branch branch
	// refused names the position if calls with an effect cannot be served there inline; else "".
	refused string
}

// gatedBy returns the context below a statement with that WHERE clause; sel is the statement if it
// is a SELECT, whose LIMIT counts, too.
func (c context) gatedBy(st *statement, where *pg_query.Node, sel *pg_query.SelectStmt, reg tree.Region) context {
	c.guards = append([]func(*splice.Output){}, c.guards...)
	if where != nil && !tree.Has(tree.IsColumnRef, where) && !tree.Has(tree.IsSubLink, where) && !st.writesBelow(where) {
		sp, ok := st.src.Clause(reg, pg_query.Token_WHERE)
		if !ok || st.nativeBelow(where) != nil {
			c.refused = "FROM under a WHERE that refers to no column"
			return c
		}
		c.guards = append(c.guards, func(o *splice.Output) {
			o.Write("(", sp.Start)
			st.ed.Render(o, sp)
			o.Write(")", sp.Start)
		})
	}
	if sel == nil || sel.LimitCount == nil {
		return c
	}
	if k := sel.LimitCount.GetAConst(); k == nil || !k.Isnull {
		c.limited = true
	}
	if k := sel.LimitCount.GetAConst(); k != nil && (k.Isnull || k.GetIval() != nil) {
		st.plan.Pin(int(k.Location))
		if !k.Isnull && k.GetIval().Ival == 0 {
			c.guards = append(c.guards, func(o *splice.Output) { o.Write("false", st.src.Toks[0].Start) })
		}
		return c
	}
	sp, ok := st.src.Clause(reg, pg_query.Token_LIMIT)
	if !ok || tree.Has(tree.IsSubLink, sel.LimitCount) || st.writesBelow(sel.LimitCount) || st.nativeBelow(sel.LimitCount) != nil {
		c.refused = "FROM under such a LIMIT"
		return c
	}
	c.guards = append(c.guards, func(o *splice.Output) {
		o.Write("coalesce((", sp.Start)
		st.ed.Render(o, sp)
		o.Write(")::bigint, 1) > 0", sp.Start)
	})
	return c
}

// elsewhere places the calls below node, which stands where only expressions can serve them. where names the position.
func (st *statement) elsewhere(node protoreflect.Message, where string) *plan.Refusal {
	for _, c := range st.below(node) {
		if c.ref != nil {
			continue
		}
		if c.Match.Func.Effect == sqlfuncs.Writes || c.Match.Func.Prelude {
			return refusePosition(c, where)
		}
		st.placeExpr(c)
	}
	var found *plan.Refusal
	tree.Walk(node, func(m protoreflect.Message) bool {
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

// elsewhereNode is elsewhere for a node that may be nil.
func (st *statement) elsewhereNode(n *pg_query.Node, where string) *plan.Refusal {
	if n == nil {
		return nil
	}
	return st.elsewhere(n.ProtoReflect(), where)
}

// elsewhereAll is elsewhere for several nodes.
func (st *statement) elsewhereAll(nodes []*pg_query.Node, where string) *plan.Refusal {
	for _, n := range nodes {
		if r := st.elsewhereNode(n, where); r != nil {
			return r
		}
	}
	return nil
}

// point is a place in a WITH clause where our WITH queries go. The clause may still have to be written.
type point struct {
	pos           int
	before, after string
	ctes          []func(o *splice.Output)
	st            *statement
}

func (st *statement) newPoint(pos int, before, after string) *point {
	return &point{pos: pos, before: before, after: after, st: st}
}

// add appends a WITH query, or a list of them; emit writes it without commas around.
func (p *point) add(emit func(o *splice.Output)) {
	p.ctes = append(p.ctes, emit)
	if len(p.ctes) > 1 {
		return
	}
	p.st.ed.Insert(p.pos, func(o *splice.Output) {
		o.Write(p.before, p.pos)
		for i, cte := range p.ctes {
			if i > 0 {
				o.Write(", ", p.pos)
			}
			cte(o)
		}
		o.Write(p.after, p.pos)
	})
}
