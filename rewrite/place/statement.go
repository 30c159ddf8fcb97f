package place

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

// statement is one statement of the text while its calls are placed.
type statement struct {
	src       *tree.Source
	ed        *splice.Edits
	plan      *plan.Builder
	fragments Fragments
	prefix    string // of the names of our own common table expressions
	env       plan.Env
	calls     []*call // all of the statement, in the order of the text
	rowSets   int     // how many target lists were hoisted
	traced    int     // sqlfuncs.Use.Traced
	bound     bool    // $n is a parameter of the protocol
	// many says that there are so many calls that they share WITH queries; see callSet.
	many bool
	// sets has the callSet of each key that may take another call, setsAt all of a point.
	sets   map[setKey]*callSet
	setsAt map[*point][]*callSet
	// rows has the calls that are placed in rows, by point; nil while calls are not placed so. See inRows.
	rows    map[*point]*pointRows
	choices int  // how many WITH queries have choices
	checked bool // whether only positions of calls are left to refuse
	// byLocation, inTree and subtrees are made by indexCalls.
	byLocation map[int32]*call
	inTree     []*call
	subtrees   map[any]subtree
	// shared has, by key, the calls whose number equal ones must share; nil until the first of them has one. See
	// sharedNumbers.
	shared map[string]*call
	// parse parses a text that is a literal of the statement.
	parse func(text string) (*pg_query.ParseResult, error)
}

// place finds a way to serve every call of the statement inline, or returns the refusal of one.
func (st *statement) place(stmt *pg_query.Node, reg tree.Region) *plan.Refusal {
	for _, c := range st.calls {
		if c.Bad != nil {
			return c.Bad
		}
	}
	if r := first(
		func() *plan.Refusal { return st.checkStored(stmt) },
		func() *plan.Refusal { return st.checkProcedures(stmt) },
		func() *plan.Refusal { return st.checkPreludes(stmt) },
	); r != nil {
		return r
	}
	st.bound = tree.BindsParameters(stmt)
	st.shared = st.sharedNumbers(stmt)
	for _, c := range st.calls {
		if r := st.readValues(c); r != nil {
			return r
		}
	}
	for _, c := range st.calls {
		if r := st.checkCopied(c); r != nil {
			return r
		}
	}
	st.checked = true
	return st.placeAll(stmt, reg)
}

// placeAll places the calls of a statement that has been checked.
func (st *statement) placeAll(stmt *pg_query.Node, reg tree.Region) *plan.Refusal {
	if r := st.container(stmt, reg); r != nil {
		return r
	}
	for _, c := range st.calls {
		if c.ref == nil {
			return refusePosition(c, "this place")
		}
	}
	return nil
}

// unplace takes back what placing has changed in calls.
func (st *statement) unplace() {
	for _, c := range st.calls {
		c.ref, c.set, c.srf, c.once, c.named, c.wrapped, c.number = nil, nil, false, false, false, false, 0
	}
}

// checkCopied refuses native calls in the arguments of a call that is served by an expression,
// which may hold an argument twice or not at all.
func (st *statement) checkCopied(c *call) *plan.Refusal {
	if c.Match.Func.Effect == sqlfuncs.Writes {
		return nil
	}
	for _, a := range c.List {
		for _, inner := range st.below(a.ProtoReflect()) {
			if inner.Native() {
				return refusePosition(inner, "the arguments of "+sqlfuncs.Schema+"."+c.Match.Name)
			}
		}
	}
	return nil
}

// first calls functions up to the first refusal, and returns that.
func first(functions ...func() *plan.Refusal) *plan.Refusal {
	for _, f := range functions {
		if r := f(); r != nil {
			return r
		}
	}
	return nil
}

// number gives a call the next number of the text, and returns the name that its WITH queries begin with.
func (st *statement) number(c *call) string {
	c.number = st.plan.AddCall(c.Span, c.Match)
	return fmt.Sprintf("%scall%d", st.prefix, c.number)
}

// numberShared is number for a call that is served by an expression. Equal calls may share their number.
func (st *statement) numberShared(c *call) string {
	key := st.key(c)
	first, shares := st.shared[key]
	if first != nil {
		c.number = first.number
		return fmt.Sprintf("%scall%d", st.prefix, c.number)
	}
	if shares {
		st.shared[key] = c
	}
	return st.number(c)
}
