package place

import (
	"fmt"
	"slices"
	"strconv"

	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

// Each call that is served inline brings WITH queries of its own, and the time that the server takes to plan them
// grows with the square of their number. So in a statement with many calls those of one function share theirs:
//
//	with call1_args(n, <parameters>) as (values (1, …), (2, …), …), call1 as (<the fragment>)
//	values ((select post from call1 where n = 1)), ((select post from call1 where n = 2)), …
//
// n is the call's number in the text. A call whose arguments hold another goes into a later set
// than that other. Sets are small, since each look-up reads its whole set. If one of the calls
// cannot stand in a set, the statement is refused, and then served in another way: see inRows and
// inPlace.
const (
	// fewCalls is the highest number of calls in a statement of which each has WITH queries of its own.
	fewCalls = 8
	// callsInSet is the highest number of calls in a set.
	callsInSet = 64
)

// placeMany names the position of a call that cannot stand in a set.
const placeMany = "a statement with so many calls"

// callSet are calls of a statement that share WITH queries.
type callSet struct {
	st     *statement
	fn     *sqlfuncs.Func
	name   string
	level  int // 0, or more than those of the sets to which arguments refer
	calls  []*call
	guards [][]func(o *splice.Output) // of the position of each
}

// setKey is what the calls of a set have in common.
type setKey struct {
	point       *point
	serves      string
	eitherOrder bool
	level       int
}

// placeInSet puts a call that is evaluated once into a set.
func (st *statement) placeInSet(c *call, ctx context) *plan.Refusal {
	if st.takesSet(c) || tree.HasOutside(st.isSet, c.List...) {
		return refusePosition(c, placeMany)
	}
	key := setKey{point: ctx.point, serves: c.Match.Func.Serves, eitherOrder: c.EitherOrder()}
	for _, a := range c.List {
		for _, inner := range st.below(a.ProtoReflect()) {
			if inner.set != nil {
				key.level = max(key.level, inner.set.level+1)
			}
		}
	}
	set := st.sets[key]
	if set == nil || len(set.calls) == callsInSet {
		use := sqlfuncs.Use{Given: map[string]bool{}, Rows: true, Numbered: true}
		if st.fragments.Shape(c.Match.Func, use).OneCall {
			return refusePosition(c, placeMany)
		}
		set = &callSet{st: st, fn: c.Match.Func, level: key.level}
		if st.sets == nil {
			st.sets, st.setsAt = map[setKey]*callSet{}, map[*point][]*callSet{}
		}
		if len(st.setsAt[ctx.point]) == 0 {
			ctx.point.add(func(o *splice.Output) { st.writeSets(o, st.setsAt[ctx.point]) })
		}
		st.sets[key] = set
		st.setsAt[ctx.point] = append(st.setsAt[ctx.point], set)
	}
	name := st.number(c)
	if set.name == "" {
		set.name = name
	}
	set.calls, set.guards = append(set.calls, c), append(set.guards, ctx.guards)
	// The reference is volatile, as the call was. Otherwise the planner takes a UNION ALL of such
	// SELECTs for one table with many parts, and the time for that grows with the square of their
	// number.
	c.set, c.srf = set, c.Match.Func.Set
	st.refer(c, set.name+" where n = "+strconv.Itoa(c.number)+" and pg_catalog.clock_timestamp() is not null")
	return nil
}

// writeSets writes the WITH queries of sets. Those to which the arguments of others refer come first.
func (st *statement) writeSets(o *splice.Output, sets []*callSet) {
	sets = slices.Clone(sets)
	slices.SortStableFunc(sets, func(a, b *callSet) int { return a.level - b.level })
	for i, s := range sets {
		if i > 0 {
			o.Write(", ", s.calls[0].Start)
		}
		s.write(o)
	}
}

// rowList returns what stands before, between and after the rows of calls: VALUES, or where one of the calls has guards
// UNION ALL, since rows of VALUES have no WHERE.
func rowList(guards [][]func(o *splice.Output)) (before, between, after string) {
	if slices.ContainsFunc(guards, func(g []func(*splice.Output)) bool { return len(g) > 0 }) {
		return "select ", " union all select ", ""
	}
	return "values (", ", (", ")"
}

// write writes the WITH queries of the set.
func (s *callSet) write(o *splice.Output) {
	st, at := s.st, s.calls[0].Start
	use := sqlfuncs.Use{
		Given: map[string]bool{}, EitherOrder: s.calls[0].EitherOrder(), Rows: true, Numbered: true, Ordered: st.env.Ordered, Traced: st.traced,
	}
	for _, c := range s.calls {
		for p := range c.Args {
			use.Given[p] = true
		}
	}
	params := s.fn.Arguments(use.Given)
	o.Write(s.name+"_args(n", at)
	for _, p := range params {
		o.Write(", "+sqlfuncs.QuoteIdent(p.Name), at)
	}
	o.Write(") as (", at)
	before, between, after := rowList(s.guards)
	for i, c := range s.calls {
		if i > 0 {
			before = between
		}
		o.Write(fmt.Sprintf("%s%d::bigint", before, c.number), c.Start)
		for _, p := range params {
			o.Write(", ", c.Start)
			st.writeArg(o, c, c.Param(p.Name))
		}
		writeGuards(o, s.guards[i], c.Start)
		o.Write(after, c.Start)
	}
	if use.Given["headers"] {
		st.plan.UseHeaders()
	}
	o.Write("), ", at)
	st.write(o, s.calls[0], st.fragments.Fragment(s.fn, use, st.names(s.calls[0], s.name)).CTEs)
}
