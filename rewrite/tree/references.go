package tree

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// RefersTo reports whether a table of that name, without a schema, is read below n.
func RefersTo(n *pg_query.Node, name string) bool {
	return n != nil && refersBelow(n.ProtoReflect(), name, nil)
}

// usage is how a WITH query is reached from the rest of its statement.
type usage struct {
	Reached bool // something that runs reads it; else Postgres does not run it
	Forced  bool // a query that changes data reads it, which runs whatever the statement's own rows
}

// UsageOf finds out how query i of the clause is reached.
func UsageOf(stmt *pg_query.Node, with *pg_query.WithClause, i int) usage {
	return usageVia(stmt, with, i, map[int]bool{})
}

func usageVia(stmt *pg_query.Node, with *pg_query.WithClause, i int, seen map[int]bool) usage {
	if seen[i] {
		return usage{}
	}
	seen[i] = true
	name := with.Ctes[i].GetCommonTableExpr().Ctename
	u := usage{Reached: refersBelow(stmt.ProtoReflect(), name, with)}
	for j, n := range with.Ctes {
		query := n.GetCommonTableExpr().Ctequery
		if j == i || !RefersTo(query, name) {
			continue
		}
		if query.GetSelectStmt() == nil {
			return usage{Reached: true, Forced: true}
		}
		via := usageVia(stmt, with, j, seen)
		u.Reached = u.Reached || via.Reached
		u.Forced = u.Forced || via.Forced
	}
	return u
}

func refersBelow(m protoreflect.Message, name string, except *pg_query.WithClause) bool {
	found := false
	WalkMessages(m, func(m protoreflect.Message) bool {
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
