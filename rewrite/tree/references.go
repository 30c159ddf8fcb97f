package tree

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// RefersTo reports whether a table of that name, without a schema, is read below n.
func RefersTo(n *pg_query.Node, name string) bool {
	return n != nil && refersBelow(n.ProtoReflect(), name, nil)
}

// Usage says how a WITH query is used by the rest of its statement.
type Usage struct {
	Reached bool // something that runs reads it; otherwise Postgres does not run it, if it is a SELECT
	Forced  bool // a query that changes data reads it, which runs even if the statement itself reads no rows
}

// UsageOf returns how query i of the WITH clause of stmt is used.
func UsageOf(stmt *pg_query.Node, with *pg_query.WithClause, i int) Usage {
	return usageVia(stmt, with, i, map[int]bool{})
}

// usageVia is UsageOf without the queries that are seen.
func usageVia(stmt *pg_query.Node, with *pg_query.WithClause, i int, seen map[int]bool) Usage {
	if seen[i] {
		return Usage{}
	}
	seen[i] = true
	name := with.Ctes[i].GetCommonTableExpr().Ctename
	u := Usage{Reached: refersBelow(stmt.ProtoReflect(), name, with)}
	for j, n := range with.Ctes {
		query := n.GetCommonTableExpr().Ctequery
		if j == i || !RefersTo(query, name) {
			continue
		}
		if query.GetSelectStmt() == nil {
			return Usage{Reached: true, Forced: true}
		}
		via := usageVia(stmt, with, j, seen)
		u.Reached = u.Reached || via.Reached
		u.Forced = u.Forced || via.Forced
	}
	return u
}

// refersBelow is RefersTo but for what lies below a WITH clause.
func refersBelow(m protoreflect.Message, name string, except *pg_query.WithClause) bool {
	found := false
	Walk(m, func(m protoreflect.Message) bool {
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
