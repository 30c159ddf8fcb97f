package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mbusproxy/sqlfuncs"
)

const codeInvalidTermination = "2D000" // invalid_transaction_termination

// What Postgres calls a routine in messages.
const (
	kindFunction  = "function"
	kindProcedure = "procedure"
)

// KindOf returns the kind of routine that a function of ours is, as Postgres has it in messages.
func KindOf(f *sqlfuncs.Func) string {
	if f.Procedure {
		return kindProcedure
	}
	return kindFunction
}

// editTermination explains why the server did not let a procedure commit.
func (p *Plan) editTermination(r *Report) bool {
	if r.Code != codeInvalidTermination {
		return false
	}
	for i, c := range p.calls {
		if c.fn.Procedure && (p.prelude == 0 || p.prelude == i+1) {
			r.Where, r.Position = "", p.enc.CharPosition(p.client, c.Start)
			r.Hint = sqlfuncs.Schema + "." + c.name + " commits: call it outside a transaction block, as the only statement of a query."
			return true
		}
	}
	return false
}

// Report is the part of an ErrorResponse or NoticeResponse that may change on its way to the
// client.
type Report struct {
	Severity string // not translated
	Code     string // SQLSTATE
	Message  string
	Detail   string
	Hint     string
	Where    string
	File     string // of the server's source that made the report; no client can choose it
	Position int    // 1-based, in characters; 0: none
	// Internal is set when the proxy's own words replace the server's: the fields that tell where
	// in the server's source the report was made mean nothing then.
	Internal bool
}

// EditReport turns a report of the server about the plan's text into one about the client's text.
// It says whether it changed anything.
func (p *Plan) EditReport(r *Report) bool {
	if r.Code == codeInvalidText {
		if i, ok := marked(r.Message, refusalMarker); ok {
			number, secret, _ := strings.Cut(i, " ")
			n, err := strconv.Atoi(number)
			if err == nil && secret == p.secretOr() && n >= 0 && n < len(p.refusals) {
				p.refuse(r, p.refusals[n])
				return true
			}
		}
		if call, ok := editMarker(r, p.secretOr()); ok {
			if p.prelude > 0 {
				call = p.prelude
			}
			if call >= 1 && call <= len(p.calls) {
				r.Position = p.enc.CharPosition(p.client, p.calls[call-1].Start)
			}
			return true
		}
	}
	if editNotice(r, p.secretOr()) || p.editTermination(r) || p.editPrelude(r) {
		return true
	}
	hinted := editUnseen(r)
	if r.Code == codeNoRights && r.Hint == "" && r.File == fileRights && aboutSchema(r.Message) && !p.reads(r.Message) {
		hinted = true
		r.Hint = "Posting and consuming takes membership in the role mbus4_user, creating and dropping in mbus4_admin: grant mbus4_user to …"
	}
	if r.Position == 0 {
		return hinted
	}
	if p.prelude > 0 {
		r.Position = 0 // nothing of the text is the client's
		return true
	}
	if in, own := p.ownText(r.Position); own {
		p.explain(r, p.callAround(in))
	}
	r.Position = p.clientPosition(r.Position)
	return true
}

// explain says in the client's terms what the server found wrong with the text that serves c.
func (p *Plan) explain(r *Report, c *callSite) {
	switch {
	case c == nil:
	case r.Code == codeCannotCoerce:
		// An argument's type has no cast to the parameter's: to the client, no such function.
		r.Code, r.Detail = CodeUndefinedFunction, r.Message
		r.Message = KindOf(c.fn) + " " + sqlfuncs.Schema + "." + c.name + " does not exist with these arguments"
		r.Hint = "The " + KindOf(c.fn) + " is " + c.fn.Signature(c.name) + "."
	case r.Code == CodeUndefinedFunction && strings.Contains(r.Message, NoRow):
		// What a call without the schema is given is no text: see mayProject.
		r.Message = KindOf(c.fn) + " " + sqlfuncs.Schema + "." + c.name + " does not exist with these arguments"
		r.Hint = "The " + KindOf(c.fn) + " is " + c.fn.Signature(c.name) + ". Where a column of a row is meant, write it as row.column."
	case r.Code == CodeFeatureNotSupported && r.Hint == "" && c.fn.Set:
		r.Hint = fmt.Sprintf("Call it in FROM, for example: … where exists (select from %s.%s(…)).", sqlfuncs.Schema, c.name)
	}
}

// aboutSchema reports whether a refusal of rights is about the schema or what is in it. The server
// names tables and sequences without their schema; languages differ in all but the names.
func aboutSchema(message string) bool { return aboutOne(message, SchemaNames()) }

func SchemaNames() []string {
	return []string{
		sqlfuncs.Schema, "queue", "consumer", "message", "message_id", "waiting",
		"work_queue", "work_queue_id_seq", "semaphore", "semaphore_task", "semaphore_change", "semaphore_arrival",
	}
}

func aboutOne(message string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return message == name || strings.HasSuffix(message, " "+name)
	})
}

// reads reports whether a refusal of rights may be about a relation that the client itself names and that is
// not the schema's.
func (p *Plan) reads(message string) bool { return aboutOne(message, p.relations) }

func (p *Plan) refuse(r *Report, f *Refusal) {
	r.Code, r.Message, r.Detail, r.Hint, r.Where = f.Code, f.Message, f.Detail, f.Hint, ""
	r.Position = p.enc.CharPosition(p.client, f.Offset)
	r.Internal = true
}

// editPrelude makes of a report from inside of a step one about its call. The client has written nothing of
// what the report's context shows.
func (p *Plan) editPrelude(r *Report) bool {
	call := max(p.prelude, p.firstPrelude)
	outermost := r.Where[strings.LastIndexByte(r.Where, '\n')+1:]
	if call == 0 || !strings.Contains(outermost, "inline_code_block") {
		return false
	}
	r.Where, r.Internal = "", true
	r.Position = p.enc.CharPosition(p.client, p.calls[call-1].Start)
	return true
}

// NoRow is a function that takes a text and nothing else without a cast, rows in particular.
const NoRow = "pg_catalog.textcat"
