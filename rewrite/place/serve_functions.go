package place

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

// inPlace serves the calls of a statement in place, if one of them cannot be served inline: every
// call becomes one of a volatile function in the database. All of them do, so that the server alone
// decides in which order they run and what one sees of another. refusal is that of the call, and is
// returned if no function can serve the statement, either.
func (st *statement) inPlace(stmt *pg_query.Node, refusal *plan.Refusal) *plan.Refusal {
	for _, c := range st.calls {
		if c.Match.Func.Prelude {
			return refusal
		}
	}
	st.unplace()
	bare, ok := tree.Evaluates(stmt)
	if !ok {
		return refusal
	}
	if r := st.checkExpanded(stmt); r != nil {
		return r
	}
	st.shared = st.sharedNumbers(stmt)
	for _, c := range st.calls {
		if bare || c.Match.Func.Effect == sqlfuncs.Writes || st.effectsBelow(c) {
			st.placeFunction(c)
		} else {
			st.placeExpr(c)
		}
	}
	var found *plan.Refusal
	tree.Walk(stmt.ProtoReflect(), func(m protoreflect.Message) bool {
		switch n := m.Interface().(type) {
		case *pg_query.SelectStmt:
			st.nameTargets(n.TargetList)
		case *pg_query.InsertStmt:
			st.nameTargets(n.ReturningList)
		case *pg_query.UpdateStmt:
			st.nameTargets(n.ReturningList)
		case *pg_query.DeleteStmt:
			st.nameTargets(n.ReturningList)
		case *pg_query.MergeStmt:
			st.nameTargets(n.ReturningList)
		case *pg_query.RangeFunction:
			found = st.exprInFrom(n)
		}
		return found == nil
	})
	return found
}

// checkExpanded refuses (f()).*, for which Postgres calls f once for each column.
func (st *statement) checkExpanded(stmt *pg_query.Node) *plan.Refusal {
	var found *plan.Refusal
	tree.Walk(stmt.ProtoReflect(), func(m protoreflect.Message) bool {
		ind, ok := m.Interface().(*pg_query.A_Indirection)
		if !ok || found != nil || ind.Indirection[len(ind.Indirection)-1].GetAStar() == nil {
			return found == nil
		}
		for _, c := range st.below(ind.Arg.ProtoReflect()) {
			if c.Match.Func.Effect == sqlfuncs.Writes {
				found = refuseExpanded(c)
				break
			}
		}
		return found == nil
	})
	return found
}

// effectsBelow reports whether a call with an effect, or a set, stands in the arguments of c. Then
// no expression can serve c, for it may hold its arguments twice, or in a subquery of its own.
func (st *statement) effectsBelow(c *call) bool {
	if c.Match.Func.Effect == sqlfuncs.Native {
		return false
	}
	for _, a := range c.List {
		for _, inner := range st.below(a.ProtoReflect()) {
			if inner.Match.Func.Effect != sqlfuncs.Reads || inner.Match.Func.Set {
				return true
			}
		}
	}
	return false
}

// placeFunction serves a call by a function in the database.
func (st *statement) placeFunction(c *call) {
	name := st.numberShared(c)
	c.function = true
	c.ref = func(o *splice.Output) { st.writeExpr(o, c, name) }
	st.ed.Add(c.Span, c.ref)
}

// sharedNumbers finds the calls in ORDER BY, GROUP BY, DISTINCT and the like. Postgres compares
// them with other expressions of the statement, and must find a call equal to one that is written
// in the same way, so the two share their number. The key is the call's text without its literals,
// as plans are for all texts that differ in those only.
func (st *statement) sharedNumbers(stmt *pg_query.Node) map[string]*call {
	shared := map[string]*call{}
	compared := func(lists ...[]*pg_query.Node) {
		for _, list := range lists {
			for _, n := range list {
				for _, c := range st.below(n.ProtoReflect()) {
					shared[st.key(c)] = nil
				}
			}
		}
	}
	tree.Walk(stmt.ProtoReflect(), func(m protoreflect.Message) bool {
		switch n := m.Interface().(type) {
		case *pg_query.SelectStmt:
			compared(n.SortClause, n.GroupClause, n.DistinctClause)
		case *pg_query.WindowDef:
			compared(n.PartitionClause, n.OrderClause)
		case *pg_query.FuncCall:
			compared(n.AggOrder)
		}
		return true
	})
	return shared
}

// key returns the call's text without its literals.
func (st *statement) key(c *call) string {
	var words []string
	for _, t := range st.src.Toks[st.src.At(c.Start):st.src.From(c.End)] {
		word, _ := lex.Skeleton(st.src.Text[t.Start:t.End], st.src.Enc, st.src.Escapes)
		words = append(words, strings.ToLower(word))
	}
	return strings.Join(words, " ")
}
