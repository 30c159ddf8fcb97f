package tree

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Children visits what m holds, in the order of the fields.
func Children(m protoreflect.Message, visit func(protoreflect.Message)) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() != protoreflect.MessageKind:
		case fd.IsList():
			l := v.List()
			for i := 0; i < l.Len(); i++ {
				visit(l.Get(i).Message())
			}
		default:
			visit(v.Message())
		}
		return true
	})
}

// Walk visits m and all that lies below it, parents first. It does not go below a message for which
// visit returns false.
func Walk(m protoreflect.Message, visit func(protoreflect.Message) bool) {
	var walk func(protoreflect.Message)
	walk = func(m protoreflect.Message) {
		if visit(m) {
			Children(m, walk)
		}
	}
	walk(m)
}

// NameOf returns the name that a node is, or "".
func NameOf(n *pg_query.Node) string { return n.GetString_().GetSval() }

// Has reports whether test holds for a message below one of nodes.
func Has(test func(any) bool, nodes ...*pg_query.Node) bool {
	return HasExcept(test, func(any) bool { return false }, nodes...)
}

// HasOutside is Has without subqueries, whose columns may be their own.
func HasOutside(test func(any) bool, nodes ...*pg_query.Node) bool {
	return HasExcept(test, IsSubLink, nodes...)
}

// HasExcept is Has without what lies below messages for which skip holds, and those themselves.
func HasExcept(test, skip func(any) bool, nodes ...*pg_query.Node) bool {
	found := false
	for _, n := range nodes {
		if n == nil {
			continue
		}
		Walk(n.ProtoReflect(), func(m protoreflect.Message) bool {
			v := m.Interface()
			if skip(v) {
				return false
			}
			found = found || test(v)
			return !found
		})
	}
	return found
}

// IsColumnRef reports whether a message is the name of a column.
func IsColumnRef(n any) bool { _, ok := n.(*pg_query.ColumnRef); return ok }

// IsSubLink reports whether a message is a subquery in an expression.
func IsSubLink(n any) bool { _, ok := n.(*pg_query.SubLink); return ok }

// IsStar reports whether a message is a *.
func IsStar(n any) bool { _, ok := n.(*pg_query.A_Star); return ok }

// EndsInStar reports whether an expression is expanded to the columns of a row.
func EndsInStar(n *pg_query.Node) bool {
	fields := n.GetColumnRef().GetFields()
	if ind := n.GetAIndirection(); ind != nil {
		fields = ind.Indirection
	}
	return len(fields) > 0 && fields[len(fields)-1].GetAStar() != nil
}
