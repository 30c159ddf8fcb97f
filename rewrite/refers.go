package rewrite

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// refersTo reports whether a table of that name, without a schema, is read below n.
func refersTo(n *pg_query.Node, name string) bool {
	return n != nil && refersBelow(n.ProtoReflect(), name, nil)
}

// usage is how a WITH query is reached from the rest of its statement.
type usage struct {
	reached bool // something that runs reads it; else Postgres does not run it
	forced  bool // a query that changes data reads it, which runs whatever the statement's own rows
}

// usageOf finds out how query i of the clause is reached.
func usageOf(stmt *pg_query.Node, with *pg_query.WithClause, i int) usage {
	return usageVia(stmt, with, i, map[int]bool{})
}

func usageVia(stmt *pg_query.Node, with *pg_query.WithClause, i int, seen map[int]bool) usage {
	if seen[i] {
		return usage{}
	}
	seen[i] = true
	name := with.Ctes[i].GetCommonTableExpr().Ctename
	u := usage{reached: refersBelow(stmt.ProtoReflect(), name, with)}
	for j, n := range with.Ctes {
		query := n.GetCommonTableExpr().Ctequery
		if j == i || !refersTo(query, name) {
			continue
		}
		if query.GetSelectStmt() == nil {
			return usage{reached: true, forced: true}
		}
		via := usageVia(stmt, with, j, seen)
		u.reached = u.reached || via.reached
		u.forced = u.forced || via.forced
	}
	return u
}

func refersBelow(m protoreflect.Message, name string, except *pg_query.WithClause) bool {
	found := false
	walkMessages(m, func(m protoreflect.Message) bool {
		switch n := m.Interface().(type) {
		case *pg_query.WithClause:
			return except == nil || n != except
		case *pg_query.RangeVar:
			found = found || (n.Relname == name && n.Schemaname == "")
		}
		return !found
	})
	return found
}

// has reports whether test holds for a message below one of nodes.
func has(test func(any) bool, nodes ...*pg_query.Node) bool {
	found := false
	for _, n := range nodes {
		if n == nil {
			continue
		}
		walkMessages(n.ProtoReflect(), func(m protoreflect.Message) bool {
			found = found || test(m.Interface())
			return !found
		})
	}
	return found
}

func isColumnRef(n any) bool { _, ok := n.(*pg_query.ColumnRef); return ok }
func isSubLink(n any) bool   { _, ok := n.(*pg_query.SubLink); return ok }

// hasOutside is has without looking into subqueries, whose columns may be their own.
func hasOutside(test func(any) bool, nodes ...*pg_query.Node) bool {
	found := false
	for _, n := range nodes {
		if n == nil {
			continue
		}
		walkMessages(n.ProtoReflect(), func(m protoreflect.Message) bool {
			v := m.Interface()
			if isSubLink(v) {
				return false
			}
			found = found || test(v)
			return !found
		})
	}
	return found
}
