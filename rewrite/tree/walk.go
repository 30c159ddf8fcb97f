package tree

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// WalkMessages visits m and all that it holds, parents first, in the order of the fields. It does
// not go below a message for which visit returns false.
func WalkMessages(m protoreflect.Message, visit func(protoreflect.Message) bool) {
	if !visit(m) {
		return
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() != protoreflect.MessageKind:
		case fd.IsList():
			l := v.List()
			for i := 0; i < l.Len(); i++ {
				WalkMessages(l.Get(i).Message(), visit)
			}
		default:
			WalkMessages(v.Message(), visit)
		}
		return true
	})
}

func NameOf(n *pg_query.Node) string { return n.GetString_().GetSval() }

// Has reports whether test holds for a message below one of nodes.
func Has(test func(any) bool, nodes ...*pg_query.Node) bool {
	found := false
	for _, n := range nodes {
		if n == nil {
			continue
		}
		WalkMessages(n.ProtoReflect(), func(m protoreflect.Message) bool {
			found = found || test(m.Interface())
			return !found
		})
	}
	return found
}

func IsColumnRef(n any) bool { _, ok := n.(*pg_query.ColumnRef); return ok }

func IsSubLink(n any) bool { _, ok := n.(*pg_query.SubLink); return ok }

// HasOutside is has without looking into subqueries, whose columns may be their own.
func HasOutside(test func(any) bool, nodes ...*pg_query.Node) bool {
	found := false
	for _, n := range nodes {
		if n == nil {
			continue
		}
		WalkMessages(n.ProtoReflect(), func(m protoreflect.Message) bool {
			v := m.Interface()
			if IsSubLink(v) {
				return false
			}
			found = found || test(v)
			return !found
		})
	}
	return found
}

func IsStar(n any) bool { _, ok := n.(*pg_query.A_Star); return ok }

// EndsInStar reports whether an expression is expanded to the columns of a row.
func EndsInStar(n *pg_query.Node) bool {
	fields := n.GetColumnRef().GetFields()
	if ind := n.GetAIndirection(); ind != nil {
		fields = ind.Indirection
	}
	return len(fields) > 0 && fields[len(fields)-1].GetAStar() != nil
}
