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
// n is the call's number in the text. A call whose arguments hold another goes into a later set than that one.
// Sets are small, for each look-up reads its set. What cannot stand in a set makes all calls of the statement
// functions, as what cannot be inline does.
const (
	// fewCalls is up to how many calls of a statement have WITH queries of their own.
	fewCalls = 8
	// callsInSet is how many calls share theirs.
	callsInSet = 64
)

// placeMany names the place of a call that cannot stand in a set.
const placeMany = "a statement with so many calls"

// callSet is the calls of a statement that share WITH queries.
type callSet struct {
	st     *statement
	fn     *sqlfuncs.Func
	name   string
	level  int // how many sets the arguments go through
	calls  []*call
	guards [][]func(o *splice.Output) // of the place of each
}

// setKey is what calls of one set have in common.
type setKey struct {
	point  *point
	serves string
	level  int
}

// placeInSet serves a call that is evaluated once together with others.
func (st *statement) placeInSet(c *call, ctx context) *plan.Refusal {
	if st.takesSet(c) || tree.HasOutside(st.isSet, c.list...) {
		return refusePosition(c, placeMany)
	}
	key := setKey{point: ctx.point, serves: c.match.Func.Serves}
	for _, a := range c.list {
		for _, inner := range st.below(a.ProtoReflect()) {
			if inner.set != nil {
				key.level = max(key.level, inner.set.level+1)
			}
		}
	}
	set := st.sets[key]
	if set == nil || len(set.calls) == callsInSet {
		use := sqlfuncs.Use{Given: map[string]bool{}, Rows: true, Numbered: true}
		if st.fragments.Shape(c.match.Func, use).OneCall {
			return refusePosition(c, placeMany)
		}
		set = &callSet{st: st, fn: c.match.Func, level: key.level}
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
	// Something volatile, as the call was: else the planner takes UNION ALL for one table with many parts, in a time
	// that grows with the square of their number.
	c.set, c.srf = set, c.match.Func.Set
	st.refer(c, set.name+" where n = "+strconv.Itoa(c.number)+" and pg_catalog.clock_timestamp() is not null")
	return nil
}

// writeSets writes the WITH queries of sets, those first to which the arguments of others refer.
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

func (s *callSet) write(o *splice.Output) {
	st, at := s.st, s.calls[0].Start
	o.Write(s.name+"_args(n", at)
	for _, p := range s.fn.Params {
		o.Write(", "+sqlfuncs.QuoteIdent(p.Name), at)
	}
	o.Write(") as (", at)
	guarded := slices.ContainsFunc(s.guards, func(g []func(*splice.Output)) bool { return len(g) > 0 })
	use := sqlfuncs.Use{Given: map[string]bool{}, Rows: true, Numbered: true, Ordered: st.env.Ordered, Selective: st.env.Selective}
	for i, c := range s.calls {
		for p := range c.args {
			use.Given[p] = true
		}
		before, between, after := "values (", ", (", ")"
		if guarded {
			before, between, after = "select ", " union all select ", ""
		}
		if i > 0 {
			before = between
		}
		o.Write(fmt.Sprintf("%s%d::bigint", before, c.number), c.Start)
		for _, p := range s.fn.Params {
			o.Write(", ", c.Start)
			st.writeArg(o, c, c.param(p.Name))
		}
		for j, g := range s.guards[i] {
			o.Write([]string{" where ", " and "}[min(j, 1)], c.Start)
			g(o)
		}
		o.Write(after, c.Start)
	}
	if use.Given["headers"] {
		st.plan.UseHeaders()
	}
	o.Write("), ", at)
	st.write(o, s.calls[0], st.fragments.Fragment(s.fn, use, st.names(s.calls[0], s.name)).CTEs)
}
