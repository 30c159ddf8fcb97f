package place

import (
	"fmt"
	"strings"

	"mbusproxy/rewrite/plan"
	"mbusproxy/sqlfuncs"
)

// SQLSTATEs of refusals.
const (
	codeFeatureNotSupported = "0A000"
	codeUndefinedFunction   = "42883"
)

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
		Message: fmt.Sprintf("%s.%s cannot be called in %s", sqlfuncs.Schema, c.match.Name, where),
		Hint:    positionHint(c, where),
		Offset:  c.Start,
		Place:   true,
	}
}

// refuseExpanded returns the refusal of a call that is served in place and whose row is expanded to its columns.
func refuseExpanded(c *call) *plan.Refusal {
	r := refusePosition(c, "an expression with .* in such a statement")
	name := sqlfuncs.Schema + "." + c.match.Name
	r.Hint = fmt.Sprintf("Call it in FROM, where its arguments may refer to what stands before it, for example: select m.* from …, %s(…) as m.", name)
	return r
}

// refuseValue returns the refusal of an argument that is not known before the statement runs.
func refuseValue(c *call, p sqlfuncs.Param, offset int) *plan.Refusal {
	what := p.Shown()
	if p.Name == c.match.Func.Selector {
		what = "the selector"
	}
	return &plan.Refusal{
		Code:    codeFeatureNotSupported,
		Message: fmt.Sprintf("argument %s of %s.%s must be known before the statement runs", p.Shown(), sqlfuncs.Schema, c.match.Name),
		Hint:    fmt.Sprintf("Give %s as a literal or as a bind parameter.", what),
		Offset:  offset,
	}
}

// positionHint returns a hint that shows a form of the call that works.
func positionHint(c *call, where string) string {
	name := sqlfuncs.Schema + "." + c.match.Name
	form := fmt.Sprintf("select %s(…)", name)
	if c.match.Func.Set {
		form = fmt.Sprintf("select * from %s(…)", name)
	}
	switch {
	case c.match.Func.Prelude:
		return fmt.Sprintf("Call it in a statement of its own, for example: select %s(…).", name)
	case where == placeView:
		return "mbus4.create_view(qname, cname, viewname) makes a view over a queue that works without the proxy, too."
	case where == placeRowsFrom:
		return fmt.Sprintf("Name the columns, with this one first, for example: from rows from (%s(…), …) as x(r, …).", name)
	}
	if where == placeStored {
		return fmt.Sprintf("The server runs what is stored in the database without mbusproxy. Call it in a statement that the client sends, for example: %s.", form) +
			plan.StoredHint(c.match.Func)
	}
	return fmt.Sprintf("Call it in a statement of its own, for example: %s.", form)
}

// refuseArguments returns the refusal of a call whose arguments do not fit, in the words of Postgres.
func refuseArguments(c *call, types []string, detail string) *plan.Refusal {
	hint := "The " + plan.RoutineKind(c.match.Func) + " is " + c.match.Func.Signature(c.match.Name) + "."
	if c.match.Func.Pattern != "" && detail == tooManyArguments {
		hint += " The queue is what stands for <q> in mbus4." + c.match.Func.DisplayName() + "."
	}
	switch {
	case c.match.Func.Name == "consume" && (detail == tooManyArguments || strings.HasPrefix(detail, noParameter) || strings.HasPrefix(detail, "Parameter wait ")):
		hint += " For several messages at once there is mbus4.consumen(qname, amt => 10)."
	case c.match.Func.Name == "create_queue" && len(types) == 1:
		hint += " ncons limits nothing: mbus4.create_queue(qname, 1) will do."
	}
	return &plan.Refusal{
		Code:    codeUndefinedFunction,
		Message: fmt.Sprintf("%s %s.%s(%s) does not exist", plan.RoutineKind(c.match.Func), sqlfuncs.Schema, c.match.Name, strings.Join(types, ", ")),
		Detail:  detail,
		Hint:    hint,
		Offset:  c.Start,
	}
}

// Details of such refusals.
const (
	tooManyArguments = "Too many arguments."
	noParameter      = "It has no parameter named " // and its name
)
