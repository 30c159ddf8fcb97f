package rewrite

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// refersTo reports whether a table of that name, without a schema, is read below n.
func refersTo(n *pg_query.Node, name string) bool {
	return n != nil && refersBelow(n.ProtoReflect(), name, nil)
}

// refersOutside is refersTo for all of stmt but its WITH clause.
func refersOutside(stmt *pg_query.Node, with *pg_query.WithClause, name string) bool {
	return refersBelow(stmt.ProtoReflect(), name, with)
}

// refersInside reports whether another expression of the clause reads expression i.
func refersInside(with *pg_query.WithClause, i int) bool {
	name := with.Ctes[i].GetCommonTableExpr().Ctename
	for j, n := range with.Ctes {
		if j != i && refersTo(n.GetCommonTableExpr().Ctequery, name) {
			return true
		}
	}
	return false
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
