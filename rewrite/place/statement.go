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
	bound     bool    // $n is a parameter of the protocol
	// many says that the calls share WITH queries.
	many bool
	// sets are the last ones of their kind, setsAt all of a point; see placeInSet.
	sets   map[setKey]*callSet
	setsAt map[*point][]*callSet
	// rows are the calls by point while they are placed in rows, else nil; see inRows.
	rows    map[*point]*pointRows
	choices int  // how many WITH queries have choices
	checked bool // all that is left to refuse is the place of a call
	// byLocation, inTree and subtrees are made by indexCalls.
	byLocation map[int32]*call
	inTree     []*call
	subtrees   map[any]subtree
	// shared are the calls whose number others with the same key share; nil until the first has one.
	shared map[string]*call
	// parse parses a text that is a literal of the statement.
	parse func(text string) (*pg_query.ParseResult, error)
}

// place finds a way to serve every call of the statement, or says why one cannot be served.
func (st *statement) place(stmt *pg_query.Node, reg tree.Region) *plan.Refusal {
	for _, c := range st.calls {
		if c.bad != nil {
			return c.bad
		}
	}
	if r := first(
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

// unplace takes back what calls are marked with when they are placed.
func (st *statement) unplace() {
	for _, c := range st.calls {
		c.ref, c.set, c.srf, c.named, c.wrapped, c.number = nil, nil, false, false, false, 0
	}
}

// checkCopied refuses calls that the server evaluates where they stand as arguments of a call that
// is served by an expression, which may hold an argument twice or not at all.
func (st *statement) checkCopied(c *call) *plan.Refusal {
	if c.match.Func.Effect == sqlfuncs.Writes {
		return nil
	}
	for _, a := range c.list {
		for _, inner := range st.below(a.ProtoReflect()) {
			if inner.native() {
				return refusePosition(inner, "the arguments of "+sqlfuncs.Schema+"."+c.match.Name)
			}
		}
	}
	return nil
}

// first runs the steps up to the first refusal.
func first(steps ...func() *plan.Refusal) *plan.Refusal {
	for _, step := range steps {
		if r := step(); r != nil {
			return r
		}
	}
	return nil
}

// number gives a call the next number of the text, and returns the name of what is its own.
func (st *statement) number(c *call) string {
	c.number = st.plan.AddCall(c.Span, c.match)
	return fmt.Sprintf("%sc%d", st.prefix, c.number)
}

// numberShared gives a call that an expression serves its number, which may be that of an equal one.
func (st *statement) numberShared(c *call) string {
	key := st.key(c)
	first, shares := st.shared[key]
	if first != nil {
		c.number = first.number
		return fmt.Sprintf("%sc%d", st.prefix, c.number)
	}
	if shares {
		st.shared[key] = c
	}
	return st.number(c)
}
