package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mbusproxy/sqlfuncs"
)

// SQLSTATEs of the server's reports.
const (
	codeInvalidText         = "22P02" // what casting a marker to integer fails with
	codeInvalidTermination  = "2D000" // invalid_transaction_termination
	codeUndefinedSchema     = "3F000"
	codeNoRights            = "42501"
	codeCannotCoerce        = "42846"
	codeUndefinedObject     = "42704"
	codeUndefinedTable      = "42P01"
	codeUndefinedFunction   = "42883"
	codeFeatureNotSupported = "0A000"
	codeUniqueViolation     = "23505"
	codeUndefinedColumn     = "42703"
	codeTriggeredChange     = "27000" // triggered_data_change_violation
	codeCardinality         = "21000" // cardinality_violation
)

// RoutineKind returns what Postgres calls a function of the catalogue in messages: function or procedure.
func RoutineKind(f *sqlfuncs.Func) string {
	if f.Procedure {
		return "procedure"
	}
	return "function"
}

// editTermination explains why the server did not let a procedure commit.
func (p *Plan) editTermination(r *Report) bool {
	if r.Code != codeInvalidTermination {
		return false
	}
	for i, c := range p.calls {
		if c.fn.Procedure && (p.prelude == 0 || p.prelude == i+1) {
			r.Where, r.Position = "", p.position(c.Start)
			r.Hint = sqlfuncs.Schema + "." + c.name + " commits: call it outside a transaction block, as the only statement of a query."
			return true
		}
	}
	return false
}

// Report is what of an ErrorResponse or NoticeResponse may change on its way to the client.
type Report struct {
	Severity string // not translated
	Code     string // SQLSTATE
	Message  string
	Detail   string
	Hint     string
	Where    string
	File     string // the file of the server's source that made the report; see fileIntegers
	Position int    // 1-based, in characters; 0: none
	Done     int    // how many statements of a Query have completed before
	// Internal says that the proxy's own words replace the server's. Then the fields that tell
	// where in the server's source the report was made mean nothing.
	Internal bool
}

// EditReport turns a report about the server's text into one about the client's text, and reports whether it changed
// anything.
func (p *Plan) EditReport(r *Report) bool {
	if p.forwarded {
		if r.Position > 0 && editUnseen(r, true) {
			return true
		}
		return EditReport(r, p.secretOr())
	}
	if r.Code == codeInvalidText {
		if i, ok := marked(r.Message, refusalMarker); ok {
			number, secret, _ := strings.Cut(i, " ")
			n, err := strconv.Atoi(number)
			if err == nil && secret == p.secretOr() && n >= 0 && n < len(p.refusals) {
				p.refuse(r, p.refusals[n])
				return true
			}
		}
		if call, ok := editMarker(r, p.secretOr(), p.site); ok {
			if c := p.site(call); c != nil {
				r.Position = p.position(c.Start)
			}
			return true
		}
	}
	if p.editTaken(r) || p.editTwice(r) || editNotice(r, p.secretOr()) || p.editTermination(r) || p.editPrelude(r) {
		return true
	}
	hinted := p.editPayload(r) || editUnseen(r, r.Code == codeUndefinedFunction && p.createsBody())
	if r.Code == codeNoRights && r.Hint == "" && r.File == fileRights && aboutSchema(r.Message) && !p.reads(r.Message) {
		hinted = true
		r.Hint = "Posting and consuming takes membership in the role mbus4_user, creating and dropping in mbus4_admin: grant mbus4_user to …"
	}
	if r.Position == 0 {
		return p.editValue(r) || hinted
	}
	if p.prelude > 0 { // nothing of the text is the client's
		r.Position = p.position(p.calls[p.prelude-1].Start)
		return true
	}
	in, own := p.ownText(r.Position)
	if own {
		p.explain(r, p.callAround(in))
	} else {
		p.editArgument(r, in)
	}
	r.Position = p.clientPosition(r.Position)
	return true
}

// editTwice tells what is behind the errors by which the server says that a statement has changed a
// row twice, where several calls may have.
func (p *Plan) editTwice(r *Report) bool {
	if r.Code != codeTriggeredChange && r.Code != codeCardinality || r.File != fileModifies || len(p.calls) < 2 {
		return false
	}
	r.Hint = "Two calls of this statement are about the same row, a message or a task for example, and neither sees what the other has done. Send each in a statement of its own."
	return true
}

// editPayload says how dyn_consume, whose t is a mbus4.qt_model, asks for what other selectors have as a column.
func (p *Plan) editPayload(r *Report) bool {
	if r.Code != codeUndefinedColumn || r.Hint != "" || !strings.Contains(r.Message, "payload") ||
		!slices.ContainsFunc(p.calls, func(c callSite) bool { return c.fn.Serves == "dyn_consume" }) {
		return false
	}
	r.Hint = "In the selector of dyn_consume the payload of a message is mbus4.payload(t), for example mbus4.payload(t)->>'n' = '1'."
	return true
}

// editTaken makes the report about an iid that another transaction has taken in the meantime one of
// the call that gives it.
func (p *Plan) editTaken(r *Report) bool {
	if r.Code != codeUniqueViolation || !strings.Contains(r.Message, "message_iid") {
		return false
	}
	i := slices.IndexFunc(p.calls, func(c callSite) bool { return c.fn.Serves == "post" })
	if i < 0 {
		return false
	}
	iid := r.Detail[strings.Index(r.Detail, ")=(")+1:]
	iid = strings.TrimPrefix(iid[:max(0, strings.LastIndex(iid, ", "))], "=(") // empty where the server does not say it
	p.refuse(r, &Refusal{Code: codeUniqueViolation, Message: fmt.Sprintf(`a message with iid "%s" is still waiting in the queue`, iid), Offset: p.calls[i].Start})
	if len(p.calls) > 1 {
		r.Position = 0 // it may be another
	}
	return true
}

// site returns the call of that number, or of the prelude statement that the plan is for; nil where there is none.
func (p *Plan) site(call int) *callSite {
	if p.prelude > 0 {
		call = p.prelude
	}
	if call < 1 || call > len(p.calls) {
		return nil
	}
	return &p.calls[call-1]
}

// explain says in the client's terms what the server found wrong with the text that serves c.
func (p *Plan) explain(r *Report, c *callSite) {
	switch {
	case c == nil:
	case r.Code == codeCannotCoerce:
		// There is no cast from an argument's type to the parameter's. To the client it means that
		// there is no such function. Of a row, in which literals and parameters stand, only the detail says which type it is.
		r.Code, r.Detail = codeUndefinedFunction, strings.ReplaceAll(cmp.Or(r.Detail, r.Message), sqlfuncs.BoundHstore+".", "")
		r.Message = RoutineKind(c.fn) + " " + sqlfuncs.Schema + "." + c.name + " does not exist with these arguments"
		r.Hint = "The " + RoutineKind(c.fn) + " is " + c.fn.Signature(c.name) + "."
		switch { // types have the same name in every language
		case jsonForHstore(r.Detail):
			r.Hint += " Of JSON " + jsonHint
		case strings.Contains(r.Detail, "interval") && strings.Contains(r.Detail, "timestamp"):
			r.Hint += " " + timeHint
		}
	case r.Code == codeUndefinedFunction && strings.Contains(r.Message, NoRow):
		// The argument of a call without the schema is no text, but perhaps a row: see NoRow.
		r.Message = RoutineKind(c.fn) + " " + sqlfuncs.Schema + "." + c.name + " does not exist with these arguments"
		r.Hint = "The " + RoutineKind(c.fn) + " is " + c.fn.Signature(c.name) + ". Where a column of a row is meant, write it as row.column."
	case r.Code == codeFeatureNotSupported && r.Hint == "" && c.fn.Set:
		r.Hint = fmt.Sprintf("Call it in FROM, for example: … where exists (select from %s.%s(…)).", sqlfuncs.Schema, c.name)
	}
}

// aboutSchema reports whether a refusal of rights is about the schema or what is in it. Its message ends in the name in
// every language; the server names tables and sequences without their schema.
func aboutSchema(message string) bool { return aboutOne(message, schemaNames()) }

// schemaNames returns the names of the schema and of what is in it.
func schemaNames() []string {
	return []string{
		sqlfuncs.Schema, "queue", "consumer", "message", "message_id", "waiting",
		"work_queue", "work_queue_id_seq", "semaphore", "semaphore_task", "semaphore_change", "semaphore_arrival",
	}
}

// aboutOne reports whether a message ends in one of names.
func aboutOne(message string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return message == name || strings.HasSuffix(message, " "+name)
	})
}

// reads reports whether a refusal of rights may be about a relation of the client's own that is called like one of the
// schema's.
func (p *Plan) reads(message string) bool { return aboutOne(message, p.relations) }

// refuse makes the report that of a refused statement.
func (p *Plan) refuse(r *Report, f *Refusal) {
	r.Code, r.Message, r.Detail, r.Hint, r.Where = f.Code, f.Message, f.Detail, f.Hint, ""
	r.Position = p.position(f.Offset)
	r.Internal = true
}

// editPrelude makes a report about a prelude statement one about its call. The report's context
// goes, for the client has written nothing of what it shows.
func (p *Plan) editPrelude(r *Report) bool {
	call := p.prelude
	if i := slices.IndexFunc(p.ours, func(s preludeStatement) bool { return s.ordinal == r.Done }); i >= 0 {
		call = p.ours[i].call
	}
	if call == 0 || r.Position > 0 {
		return false
	}
	r.Where, r.Internal = "", true
	r.Position = p.position(p.calls[call-1].Start)
	return true
}

// NoRow is a function of Postgres that takes a text, and nothing else without a cast. The argument
// of a call without the schema is given to it where it might be a row: then the server finds no
// such function, instead of a column of the row.
const NoRow = "pg_catalog.textcat"
