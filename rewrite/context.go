package rewrite

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// context is what the place of a call means for how it is served. It is passed by value; the
// deeper the place, the more it knows.
type context struct {
	point *point // where the expressions that do the work go
	// guards are conditions on which the whole place is evaluated at all, such as LIMIT 0 or
	// WHERE $1 above it. Postgres does not call a function there when one is false.
	guards []func(o *output)
	// beside says that the place is an item of FROM beside others, which its arguments may refer to.
	beside bool
	// limited says that Postgres may stop reading the place's rows early.
	limited bool
	// branch is the branch of a CASE in which the place is.
	branch branch
	// refused names the place when calls with an effect cannot be served in it.
	refused string
}

// gatedBy returns the context below a statement with that WHERE clause and, for a SELECT, its
// LIMIT.
func (c context) gatedBy(st *statement, where *pg_query.Node, sel *pg_query.SelectStmt, reg region) context {
	c.guards = append([]func(*output){}, c.guards...)
	if where != nil && !has(isColumnRef, where) && !has(isSubLink, where) && !st.writesBelow(where) {
		sp, ok := st.clause(reg, pg_query.Token_WHERE)
		if !ok || st.nativeBelow(where) != nil {
			c.refused = "FROM under a WHERE that refers to no column"
			return c
		}
		c.guards = append(c.guards, func(o *output) {
			o.write("(", sp.start)
			st.ed.render(o, sp)
			o.write(")", sp.start)
		})
	}
	if sel == nil || sel.LimitCount == nil {
		return c
	}
	if k := sel.LimitCount.GetAConst(); k == nil || !k.Isnull {
		c.limited = true
	}
	if k := sel.LimitCount.GetAConst(); k != nil && (k.Isnull || k.GetIval() != nil) {
		st.plan.pins = append(st.plan.pins, int(k.Location))
		if !k.Isnull && k.GetIval().Ival == 0 {
			c.guards = append(c.guards, func(o *output) { o.write("false", st.src.toks[0].start) })
		}
		return c
	}
	sp, ok := st.clause(reg, pg_query.Token_LIMIT)
	if !ok || has(isSubLink, sel.LimitCount) || st.writesBelow(sel.LimitCount) || st.nativeBelow(sel.LimitCount) != nil {
		c.refused = "FROM under such a LIMIT"
		return c
	}
	c.guards = append(c.guards, func(o *output) {
		o.write("coalesce((", sp.start)
		st.ed.render(o, sp)
		o.write(")::bigint, 1) > 0", sp.start)
	})
	return c
}

// clauseEnds are the words that end a clause of a SELECT, UPDATE or DELETE.
var clauseEnds = []pg_query.Token{
	pg_query.Token_FROM, pg_query.Token_INTO, pg_query.Token_WHERE, pg_query.Token_GROUP_P, pg_query.Token_HAVING,
	pg_query.Token_WINDOW, pg_query.Token_ORDER, pg_query.Token_LIMIT, pg_query.Token_OFFSET, pg_query.Token_FETCH,
	pg_query.Token_FOR, pg_query.Token_UNION, pg_query.Token_INTERSECT, pg_query.Token_EXCEPT, pg_query.Token_RETURNING,
}

// clauseEnd returns the index of the token that ends the clause in whose middle token i lies.
func (st *statement) clauseEnd(i, end int) int {
	for {
		j := st.src.find(i, end, clauseEnds...)
		switch {
		case j < 0:
			return end
		case st.src.kind(j) == pg_query.Token_FROM && st.src.kind(j-1) == pg_query.Token_DISTINCT,
			st.src.kind(j) == pg_query.Token_GROUP_P && st.src.kind(j-1) == pg_query.Token_WITHIN:
			i = j + 1 // a IS DISTINCT FROM b, WITHIN GROUP (…)
		default:
			return j
		}
	}
}

// clause returns the text behind the keyword that opens a clause in reg.
func (st *statement) clause(reg region, keyword pg_query.Token) (span, bool) {
	if !reg.known() {
		return span{}, false
	}
	i := st.src.find(reg.first, reg.end, keyword)
	if i < 0 {
		return span{}, false
	}
	j := st.clauseEnd(i+1, reg.end)
	return st.src.tokens(i+1, j), j > i+1
}
