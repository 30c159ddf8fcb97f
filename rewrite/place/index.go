package place

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

// writers returns the calls below a node that have an effect.
func (st *statement) writers(n *pg_query.Node) []*call {
	var out []*call
	for _, c := range st.below(n.ProtoReflect()) {
		if c.Match.Func.Effect == sqlfuncs.Writes {
			out = append(out, c)
		}
	}
	return out
}

// valuesBelow reports whether a call with an effect that yields one value lies below one of nodes.
func (st *statement) valuesBelow(nodes []*pg_query.Node) bool {
	return st.anyBelow(nodes, func(c *call) bool { return c.Match.Func.Effect == sqlfuncs.Writes && !c.Match.Func.Set })
}

// callOf returns the call that fc is, or nil. It goes by location, since one call may be two nodes of the tree, as in
// set (a, b) = (…).
func (st *statement) callOf(fc *pg_query.FuncCall) *call {
	if fc == nil {
		return nil
	}
	return st.byLocation[fc.Location]
}

// takesSet reports whether a set stands in the arguments of c. Then c is evaluated for each row of the set.
func (st *statement) takesSet(c *call) bool {
	for _, a := range c.List {
		for _, inner := range st.below(a.ProtoReflect()) {
			if inner.srf {
				return true
			}
		}
	}
	return false
}

// effects returns how many calls of the statement have an effect.
func (st *statement) effects() int {
	n := 0
	for _, c := range st.calls {
		if c.Match.Func.Effect == sqlfuncs.Writes {
			n++
		}
	}
	return n
}

// subtree says which calls lie below a node: inTree[from:to].
type subtree struct{ from, to int }

// indexCalls walks the tree of the statement once and notes which calls lie below each node.
func (st *statement) indexCalls(stmt *pg_query.Node) {
	st.byLocation = make(map[int32]*call, len(st.calls))
	for _, c := range st.calls {
		st.byLocation[c.Node.Location] = c
	}
	st.many = st.effects() > fewCalls
	st.subtrees = map[any]subtree{}
	var index func(protoreflect.Message)
	index = func(m protoreflect.Message) {
		from := len(st.inTree)
		if fc, ok := m.Interface().(*pg_query.FuncCall); ok {
			if c := st.byLocation[fc.Location]; c != nil {
				st.inTree = append(st.inTree, c)
			}
		}
		tree.Children(m, index)
		st.subtrees[m.Interface()] = subtree{from, len(st.inTree)}
	}
	index(stmt.ProtoReflect())
}

// below returns the calls of the statement that lie below node.
func (st *statement) below(node protoreflect.Message) []*call {
	t := st.subtrees[node.Interface()]
	return st.inTree[t.from:t.to]
}

// writesBelow reports whether a call with an effect, which WITH queries serve, lies below one of nodes.
func (st *statement) writesBelow(nodes ...*pg_query.Node) bool {
	return st.anyBelow(nodes, func(c *call) bool { return c.Match.Func.Effect == sqlfuncs.Writes })
}

// anyBelow reports whether test holds for a call below one of nodes.
func (st *statement) anyBelow(nodes []*pg_query.Node, test func(*call) bool) bool {
	for _, n := range nodes {
		if n != nil && slices.ContainsFunc(st.below(n.ProtoReflect()), test) {
			return true
		}
	}
	return false
}

// nativeBelow returns the first native call below nodes, or nil.
func (st *statement) nativeBelow(nodes ...*pg_query.Node) *call {
	for _, n := range nodes {
		if n == nil {
			continue
		}
		for _, c := range st.below(n.ProtoReflect()) {
			if c.Native() {
				return c
			}
		}
	}
	return nil
}
