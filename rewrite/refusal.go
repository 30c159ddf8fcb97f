package rewrite

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mbusproxy/rewrite/parse"
	"mbusproxy/sqlfuncs"
)

// SQLSTATEs of what the rewriter itself refuses.
const (
	codeFeatureNotSupported = "0A000"
	codeUndefinedFunction   = "42883"

	codeAdminShutdown         = "57P01"
	codeInsufficientResources = "53000"
)

// Refusal is an error that the client gets instead of a statement's result.
type Refusal struct {
	Code    string // SQLSTATE
	Message string
	Detail  string
	Hint    string
	offset  int  // byte offset in the client's text
	place   bool // what is refused is the place of a call
}

func (r *Refusal) Error() string { return r.Message }

// Places with a hint of their own.
const (
	placeView     = "a view"
	placeRowsFrom = "ROWS FROM without a name for its column"
)

// refusePosition is the refusal of a call in a place where it cannot be served.
func refusePosition(c *call, where string) *Refusal {
	return &Refusal{
		Code:    codeFeatureNotSupported,
		Message: fmt.Sprintf("%s.%s cannot be called in %s", sqlfuncs.Schema, c.match.Name, where),
		Hint:    positionHint(c, where),
		offset:  c.start,
		place:   true,
	}
}

// refuseExpanded is the refusal of a call whose row is expanded to columns where the call is served in
// place.
func refuseExpanded(c *call) *Refusal {
	r := refusePosition(c, "an expression with .* in such a statement")
	name := sqlfuncs.Schema + "." + c.match.Name
	r.Hint = fmt.Sprintf("Call it in FROM, where its arguments may refer to what stands before it, for example: select m.* from …, %s(…) as m.", name)
	return r
}

// refuseValue is the refusal of an argument that is not known before the statement runs.
func refuseValue(c *call, p sqlfuncs.Param, offset int) *Refusal {
	what := p.Shown()
	if p.Name == c.match.Func.Selector {
		what = "the selector"
	}
	return &Refusal{
		Code:    codeFeatureNotSupported,
		Message: fmt.Sprintf("argument %s of %s.%s must be known before the statement runs", p.Shown(), sqlfuncs.Schema, c.match.Name),
		Hint:    fmt.Sprintf("Give %s as a literal or as a bind parameter.", what),
		offset:  offset,
	}
}

// positionHint shows a form of the call that works.
func positionHint(c *call, where string) string {
	name := sqlfuncs.Schema + "." + c.match.Name
	form := fmt.Sprintf("select %s(…)", name)
	if c.match.Func.Set {
		form = fmt.Sprintf("select * from %s(…)", name)
	}
	switch {
	case c.match.Func.Step:
		return fmt.Sprintf("Call it in a statement of its own, for example: select %s(…).", name)
	case where == placeView:
		return "mbus4.create_view(qname, cname, viewname) makes a view over a queue that works without the proxy, too."
	case where == placeRowsFrom:
		return fmt.Sprintf("Name the columns, with this one first, for example: from rows from (%s(…), …) as x(r, …).", name)
	}
	return fmt.Sprintf("What is stored in the database must not hold the call. Call it in a statement that the client sends, for example: %s.", form)
}

// refuseArguments is the refusal of a call whose arguments do not fit, in the words of Postgres.
func refuseArguments(c *call, types []string, detail string) *Refusal {
	return &Refusal{
		Code:    codeUndefinedFunction,
		Message: fmt.Sprintf("%s %s.%s(%s) does not exist", kindOfCalled(c.match.Func), sqlfuncs.Schema, c.match.Name, strings.Join(types, ", ")),
		Detail:  detail,
		Hint:    "The " + kindOfCalled(c.match.Func) + " is " + c.match.Func.Signature(c.match.Name) + ".",
		offset:  c.start,
	}
}

// parserRefusal is what a client is told where its text is not parsed, though it may hold a call.
func parserRefusal(err error) *Refusal {
	var limit *parse.LimitError
	switch {
	case errors.As(err, &limit):
		return &Refusal{Code: limit.Code, Message: limit.Message, Hint: limit.Hint}
	case errors.Is(err, parse.ErrEnded):
		return &Refusal{Code: codeAdminShutdown, Message: "the session is ending", Detail: err.Error()}
	}
	return &Refusal{Code: codeInsufficientResources, Message: "the statement cannot be parsed now", Detail: err.Error(), Hint: "Try again."}
}

// Refuse returns a plan that makes the server fail with r where text would have run. It is for
// errors found outside this package, such as a database that cannot be served.
func Refuse(text, encoding string, r Refusal) *Plan {
	p := &Plan{client: text, enc: kindOf(encoding), refusals: []*Refusal{&r}}
	if len(text) > cacheTextLimit {
		p.client = "" // no place in it is told
	}
	o := &output{}
	writeRefusal(o, 0, r.offset)
	p.sql, p.segs = o.b.String(), o.segs
	return p
}

// Refuse returns a plan in which r stands for the statement around a byte of the client's text, and
// points there. It is for what is found wrong with one of the plan's Values, whose Offset it takes.
func (p *Plan) Refuse(offset int, r Refusal) *Plan {
	r.offset = offset
	q := *p
	q.given, q.selectors, q.steps, q.stmts = nil, nil, nil, nil
	q.refusals = append(append([]*Refusal{}, p.refusals...), &r)
	o := &output{}
	from, to := 0, len(p.segs)
	for _, s := range p.stmts {
		if s.start <= offset && offset < s.end {
			from, to = s.from, s.to
		}
	}
	o.take(p, 0, from)
	writeRefusal(o, len(p.refusals), offset)
	o.take(p, to, len(p.segs))
	q.sql, q.segs = o.b.String(), o.segs
	return &q
}

// writeRefusal writes a statement that fails when it is analysed, as the refused one would.
func writeRefusal(o *output, number, anchor int) {
	o.write("select '"+refusalMarker+strconv.Itoa(number)+" ", anchor)
	o.writeSecret(anchor)
	o.write("'::pg_catalog.int4", anchor)
}
