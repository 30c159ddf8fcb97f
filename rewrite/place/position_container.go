package place

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/tree"
)

// container places the calls of a statement, which may hold another statement.
func (st *statement) container(stmt *pg_query.Node, reg tree.Region) *plan.Refusal {
	inner, at := stmt, reg
	where := ""
	switch n := stmt.Node.(type) {
	case *pg_query.Node_PrepareStmt:
		inner = n.PrepareStmt.Query
		at.First = st.src.Find(reg.First, reg.End, pg_query.Token_AS) + 1
	case *pg_query.Node_ExplainStmt:
		inner = n.ExplainStmt.Query
		at.First = st.src.Explained(reg.First + 1)
	case *pg_query.Node_CopyStmt:
		inner = n.CopyStmt.Query
		if inner == nil {
			return refusePosition(st.calls[0], "WHERE of COPY")
		}
		at.First = st.src.Find(reg.First, reg.End, tree.TokOpen) + 1
		at.End = st.src.Toks[at.First-1].Match
	case *pg_query.Node_CreateTableAsStmt:
		inner = n.CreateTableAsStmt.Query
		at.First = st.src.Find(reg.First, reg.End, pg_query.Token_AS) + 1
		at.End = st.src.WithoutWithData(at.End)
	case *pg_query.Node_DeclareCursorStmt:
		where = "DECLARE CURSOR"
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

// top places the calls of a statement that may begin with a WITH clause.
func (st *statement) top(stmt *pg_query.Node, reg tree.Region) *plan.Refusal {
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
		return st.elsewhere(stmt.ProtoReflect(), placeStored)
	}
	ctx := context{}
	if with == nil {
		ctx.point = st.newPoint(st.src.Toks[reg.First].Start, "with ", " ")
		return st.body(stmt, ctx, reg)
	}
	body, refusal := st.with(stmt, with, reg)
	if refusal != nil {
		return refusal
	}
	ctx.point = st.newPoint(st.src.Toks[body.First-1].End, ", ", "")
	return st.body(stmt, ctx, body)
}

// body places the calls of a statement but for those in its WITH clause.
func (st *statement) body(stmt *pg_query.Node, ctx context, reg tree.Region) *plan.Refusal {
	switch n := stmt.Node.(type) {
	case *pg_query.Node_SelectStmt:
		return st.selectBody(n.SelectStmt, ctx, reg)
	case *pg_query.Node_InsertStmt:
		return st.insert(n.InsertStmt, ctx, reg)
	case *pg_query.Node_UpdateStmt:
		u := n.UpdateStmt
		return first(
			func() *plan.Refusal {
				return st.from(u.FromClause, ctx.gatedBy(st, u.WhereClause, nil, reg))
			},
			func() *plan.Refusal { return st.elsewhereAll(u.TargetList, "SET of UPDATE") },
			func() *plan.Refusal { return st.elsewhereNode(u.WhereClause, "WHERE") },
			func() *plan.Refusal { return st.returning(u.ReturningList) },
		)
	case *pg_query.Node_DeleteStmt:
		d := n.DeleteStmt
		return first(
			func() *plan.Refusal {
				return st.from(d.UsingClause, ctx.gatedBy(st, d.WhereClause, nil, reg))
			},
			func() *plan.Refusal { return st.elsewhereNode(d.WhereClause, "WHERE") },
			func() *plan.Refusal { return st.returning(d.ReturningList) },
		)
	case *pg_query.Node_MergeStmt:
		m := n.MergeStmt
		return first(
			func() *plan.Refusal { return st.from([]*pg_query.Node{m.SourceRelation}, ctx) },
			func() *plan.Refusal { return st.elsewhereNode(m.JoinCondition, "ON of MERGE") },
			func() *plan.Refusal { return st.elsewhereAll(m.MergeWhenClauses, "MERGE") },
		)
	}
	return st.elsewhere(stmt.ProtoReflect(), placeStored)
}

// insert places the calls of an INSERT but for those in its WITH clause.
func (st *statement) insert(n *pg_query.InsertStmt, ctx context, reg tree.Region) *plan.Refusal {
	if r := first(
		func() *plan.Refusal { return st.returning(n.ReturningList) },
		func() *plan.Refusal {
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
	at := tree.Region{}
	if i := st.src.Find(reg.First, reg.End, pg_query.Token_SELECT); i >= 0 && sel.Op == pg_query.SetOperation_SETOP_NONE {
		at = tree.Region{First: i, End: reg.End}
		if j := st.src.Find(i, reg.End, pg_query.Token_RETURNING); j >= 0 {
			at.End = j
		}
		for j := i; ; j++ {
			if j = st.src.Find(j, at.End, pg_query.Token_ON); j < 0 {
				break
			}
			if st.src.Kind(j+1) == pg_query.Token_CONFLICT {
				at.End = j
				break
			}
		}
	}
	return st.selectBody(sel, ctx, at)
}

// returning places the calls in a RETURNING list.
func (st *statement) returning(list []*pg_query.Node) *plan.Refusal {
	r := st.elsewhereAll(list, "RETURNING")
	st.nameTargets(list)
	return r
}
