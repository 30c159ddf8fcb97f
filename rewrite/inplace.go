package rewrite

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"mbusproxy/sqlfuncs"
)

// A statement in which a call cannot be served inline is served in place: every call in it becomes one of
// a volatile function in the database. All of them, so that the server alone decides in which order they
// run and what one sees of another.

// inPlace serves the calls of a statement that was refused for the place of one of them. It returns the
// refusal where no function may stand there, either.
func (st *statement) inPlace(stmt *pg_query.Node, refusal *Refusal) *Refusal {
	for _, c := range st.calls {
		if c.match.Func.Step {
			return refusal
		}
	}
	st.unplace()
	bare, ok := evaluated(stmt)
	if !ok {
		return refusal
	}
	if r := st.checkExpanded(stmt); r != nil {
		return r
	}
	st.shared = st.sharedNumbers(stmt)
	for _, c := range st.calls {
		if bare || c.match.Func.Effect == sqlfuncs.Writes || st.effectsBelow(c) {
			st.placeFunction(c)
		} else {
			st.placeExpr(c)
		}
	}
	var found *Refusal
	walkMessages(stmt.ProtoReflect(), func(m protoreflect.Message) bool {
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

// evaluated reports whether a statement evaluates its expressions itself; others keep them for later, and
// what is kept must not hold anything of ours. bare says that they cannot hold subqueries.
func evaluated(stmt *pg_query.Node) (bare, ok bool) {
	switch n := stmt.GetNode().(type) {
	case *pg_query.Node_SelectStmt, *pg_query.Node_InsertStmt, *pg_query.Node_UpdateStmt, *pg_query.Node_DeleteStmt, *pg_query.Node_MergeStmt:
		return false, true
	case *pg_query.Node_ExecuteStmt, *pg_query.Node_CallStmt:
		return true, true
	case *pg_query.Node_PrepareStmt:
		return evaluated(n.PrepareStmt.Query)
	case *pg_query.Node_ExplainStmt:
		return evaluated(n.ExplainStmt.Query)
	case *pg_query.Node_DeclareCursorStmt:
		return evaluated(n.DeclareCursorStmt.Query)
	case *pg_query.Node_CopyStmt:
		if n.CopyStmt.Query == nil {
			return true, true // WHERE of COPY FROM
		}
		return evaluated(n.CopyStmt.Query)
	case *pg_query.Node_CreateTableAsStmt:
		if n.CreateTableAsStmt.Objtype == pg_query.ObjectType_OBJECT_TABLE {
			return evaluated(n.CreateTableAsStmt.Query)
		}
	}
	return false, false
}

// checkExpanded refuses (f()).*, which Postgres turns into a call for each column.
func (st *statement) checkExpanded(stmt *pg_query.Node) *Refusal {
	var found *Refusal
	walkMessages(stmt.ProtoReflect(), func(m protoreflect.Message) bool {
		ind, ok := m.Interface().(*pg_query.A_Indirection)
		if !ok || found != nil || ind.Indirection[len(ind.Indirection)-1].GetAStar() == nil {
			return found == nil
		}
		for _, c := range st.below(ind.Arg.ProtoReflect()) {
			if c.match.Func.Effect == sqlfuncs.Writes {
				found = refuseExpanded(c)
				break
			}
		}
		return found == nil
	})
	return found
}

// effectsBelow reports whether a call with an effect, or a set, stands in the arguments of c; what serves c
// may hold its arguments twice, or in a subquery of its own.
func (st *statement) effectsBelow(c *call) bool {
	if c.match.Func.Effect == sqlfuncs.Native {
		return false
	}
	for _, a := range c.list {
		for _, inner := range st.below(a.ProtoReflect()) {
			if inner.match.Func.Effect != sqlfuncs.Reads || inner.match.Func.Set {
				return true
			}
		}
	}
	return false
}

// placeFunction serves a call by one of the function in the database.
func (st *statement) placeFunction(c *call) {
	name := st.numberShared(c)
	c.function = true
	c.ref = func(o *output) { st.writeExpr(o, c, name) }
	st.ed.add(c.span, c.ref)
}

// sharedNumbers finds the calls that Postgres takes for one where it compares expressions: in ORDER BY,
// GROUP BY, DISTINCT and the like. It must find them equal, so they have one number. The key is the
// call's text without its literals, as plans are made for all texts that differ in those.
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
	walkMessages(stmt.ProtoReflect(), func(m protoreflect.Message) bool {
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

func (st *statement) key(c *call) string {
	var words []string
	for _, t := range st.src.toks[st.src.at(c.start):st.src.from(c.end)] {
		word, _ := skeleton(st.src.text[t.start:t.end], st.plan.enc, st.plan.escapes)
		words = append(words, strings.ToLower(word))
	}
	return strings.Join(words, " ")
}
