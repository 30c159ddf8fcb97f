package place

import (
	"fmt"

	"mbusproxy/rewrite/plan"
	"mbusproxy/sqlfuncs"
)

const codeFeatureNotSupported = "0A000"

// Positions with a hint of their own.
const (
	placeStored   = "this statement" // which stores it, as CREATE TABLE does a default, or for which there are no prelude statements
	placeView     = "a view"
	placeRowsFrom = "ROWS FROM without a name for its column"
)

// refusePosition returns the refusal of a call in a position where it cannot be served.
func refusePosition(c *call, where string) *plan.Refusal {
	return &plan.Refusal{
		Code:    codeFeatureNotSupported,
		Message: fmt.Sprintf("%s.%s cannot be called in %s", sqlfuncs.Schema, c.Match.Name, where),
		Hint:    positionHint(c, where),
		Offset:  c.Start,
		Place:   true,
	}
}

// refuseExpanded returns the refusal of a call that is served in place and whose row is expanded to its columns.
func refuseExpanded(c *call) *plan.Refusal {
	r := refusePosition(c, "an expression with .* in such a statement")
	name := sqlfuncs.Schema + "." + c.Match.Name
	r.Hint = fmt.Sprintf("Call it in FROM, where its arguments may refer to what stands before it, for example: select m.* from …, %s(…) as m.", name)
	return r
}

// refuseValue returns the refusal of an argument that is not known before the statement runs.
func refuseValue(c *call, p sqlfuncs.Param, offset int) *plan.Refusal {
	what := p.Shown()
	if p.Name == c.Match.Func.Selector {
		what = "the selector"
	}
	return &plan.Refusal{
		Code:    codeFeatureNotSupported,
		Message: fmt.Sprintf("argument %s of %s.%s must be known before the statement runs", p.Shown(), sqlfuncs.Schema, c.Match.Name),
		Hint:    fmt.Sprintf("Give %s as a literal or as a bind parameter.", what),
		Offset:  offset,
	}
}

// positionHint returns a hint that shows a form of the call that works.
func positionHint(c *call, where string) string {
	name := sqlfuncs.Schema + "." + c.Match.Name
	form := fmt.Sprintf("select %s(…)", name)
	if c.Match.Func.Set {
		form = fmt.Sprintf("select * from %s(…)", name)
	}
	switch {
	case c.Match.Func.Prelude:
		return fmt.Sprintf("Call it in a statement of its own, for example: select %s(…).", name)
	case where == placeView:
		return "mbus4.create_view(qname, cname, viewname) makes a view over a queue that works without the proxy, too."
	case where == placeRowsFrom:
		return fmt.Sprintf("Name the columns, with this one first, for example: from rows from (%s(…), …) as x(r, …).", name)
	}
	if where == placeStored {
		return fmt.Sprintf("The server runs what is stored in the database without mbusproxy. Call it in a statement that the client sends, for example: %s.", form) +
			plan.StoredHint(c.Match.Func)
	}
	return fmt.Sprintf("Call it in a statement of its own, for example: %s.", form)
}
