package rewrite

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mbusproxy/sqlfuncs"
)

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

// Markers are how SQL without PL/pgSQL raises the errors and notices of the engine. The server
// quotes them in a message of its own, in whatever language. They prove with the session's secret that they
// are ours; functions that are stored with the schema have no session: see stored.
const (
	// errorMarker starts the text that is cast to integer: "mbus4-error <call> <secret> <SQLSTATE> <message>", in
	// stored functions without the secret.
	errorMarker = "mbus4-error "
	// refusalMarker starts the literal of a refused statement: "mbus4-refusal <number> <secret>".
	refusalMarker = "mbus4-refusal "

	codeInvalidText  = "22P02" // what casting a marker to integer fails with
	codeCannotCoerce = "42846"
	codeNoRights     = "42501"

	codeUndefinedSchema = "3F000"
)

// hints are the ways out of the errors that the engine raises, by SQLSTATE.
var hints = map[string]string{
	"42704": "Create it with mbus4.create_queue(qname, ncons) or mbus4.create_consumer(qname, cname); names are folded to lower case.",
	"42602": "Names are 1 to 32 characters of a-z, 0-9 and _; dmq and temp are reserved.",
	"54000": "Temporary consumers go with the sessions that made them; those of a session that is still needed can be made once and kept.",
	"23505": "A message is posted again under its iid only after it was consumed.",
}

// semaphoreHint is the one of 42704 where it is about a semaphore.
const semaphoreHint = "Create it with mbus4.semaphore_get_or_create(key)."

// changedHint is the one of 42725 where a call without the schema has changed its meaning.
const changedHint = "The search_path, or what is in it, has changed since the statement was read. Write the schema, prepare the statement again, " +
	"or send it in a message of its own."

func hintFor(code, message string) string {
	if code == "42725" && strings.Contains(message, " no longer means ") {
		return changedHint
	}
	if code == "42704" && strings.HasPrefix(message, "semaphore ") {
		return semaphoreHint
	}
	return hints[code]
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
			if p.step > 0 {
				call = p.step
			}
			if call >= 1 && call <= len(p.calls) {
				r.Position = p.enc.charPosition(p.client, p.calls[call-1].start)
			}
			return true
		}
	}
	if editNotice(r, p.secretOr()) || p.editTermination(r) || p.editStep(r) {
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
	if p.step > 0 {
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
		r.Code, r.Detail = codeUndefinedFunction, r.Message
		r.Message = kindOfCalled(c.fn) + " " + sqlfuncs.Schema + "." + c.name + " does not exist with these arguments"
		r.Hint = "The " + kindOfCalled(c.fn) + " is " + c.fn.Signature(c.name) + "."
	case r.Code == codeUndefinedFunction && strings.Contains(r.Message, noRow):
		// What a call without the schema is given is no text: see mayProject.
		r.Message = kindOfCalled(c.fn) + " " + sqlfuncs.Schema + "." + c.name + " does not exist with these arguments"
		r.Hint = "The " + kindOfCalled(c.fn) + " is " + c.fn.Signature(c.name) + ". Where a column of a row is meant, write it as row.column."
	case r.Code == codeFeatureNotSupported && r.Hint == "" && c.fn.Set:
		r.Hint = fmt.Sprintf("Call it in FROM, for example: … where exists (select from %s.%s(…)).", sqlfuncs.Schema, c.name)
	}
}

// aboutSchema reports whether a refusal of rights is about the schema or what is in it. The server
// names tables and sequences without their schema; languages differ in all but the names.
func aboutSchema(message string) bool { return aboutOne(message, schemaNames()) }

func schemaNames() []string {
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
	r.Position = p.enc.charPosition(p.client, f.offset)
	r.Internal = true
}

// EditReport does the same for a report that belongs to no plan, for example of an EXECUTE: only
// the engine's markers with the session's secret are turned, and calls that came to the server as they are
// explained.
func EditReport(r *Report, secret string) bool {
	if r.Code == codeInvalidText {
		if _, ok := editMarker(r, secret); ok {
			r.Position = 0
			return true
		}
	}
	return editNotice(r, secret) || editUnseen(r)
}

// Files of the server's source. A report says in which it was made, whatever the language of its words, and
// nothing that a client writes can choose it: what RAISE says comes from PL/pgSQL's own.
const (
	fileIntegers  = "numutils.c"   // casts to integer
	fileFunctions = "parse_func.c" // looks for the function of a call
	fileSchemas   = "namespace.c"  // looks for a schema
	fileRights    = "aclchk.c"
)

// stored matches the place, in the first line of a report's context, that is a function of ours which belongs
// to no session: those of the schema's own functions that raise errors, and what views call (mbus4.create_view).
// None of them casts to integer anything that is in a message, nor does what they call. Whoever makes a
// function of that name can have it say anything, but such a function may raise any error without us.
var stored = regexp.MustCompile(`^[^"»«“”„']*["»«“”„'][ \x{a0}]*(check_queue|estimated_messages_of|new_temporary_consumer|no_selector|view_[0-9a-f]{16}_(?:consume|post))[ \x{a0}]*["»«“”„']`)

// fromStored reports whether a function of ours that is stored has cast a marker to integer.
func fromStored(r *Report) bool {
	line, _, _ := strings.Cut(r.Where, "\n")
	return r.File == fileIntegers && stored.MatchString(line)
}

// editUnseen explains what the server says of a call that it got as it is, because it stands where the
// proxy does not look, or of a function of ours that is not there.
func editUnseen(r *Report) bool {
	switch r.Code {
	case codeUndefinedFunction:
		if r.File != fileFunctions {
			return false // what a client's own code says
		}
		_, rest, found := strings.Cut(r.Message, sqlfuncs.Schema+".")
		name, _, called := strings.Cut(rest, "(")
		if !found || !called {
			return false
		}
		if strings.HasPrefix(name, "at_") {
			r.Hint = "This function serves calls in places such as WHERE. It is created by: mbusproxy init"
			return true
		}
		// At the top it may also be a function with a dot in its name.
		match, known := sqlfuncs.Lookup(strings.Trim(name, `"`))
		if !known || r.Where == "" {
			return false
		}
		hint := unseenHint
		if match.Func.Set && match.Func.Result.Composite() {
			hint += " A view that mbus4.create_view(…) makes may be read anywhere."
		}
		r.Hint = hint
		return true
	case codeUndefinedSchema:
		// Only inside of something: what the client itself asks for is the server's to explain.
		if r.Where == "" || r.File != fileSchemas || !strings.Contains(r.Message, sqlfuncs.Schema) {
			return false
		}
		r.Hint = unseenHint
		return true
	}
	return false
}

const unseenHint = "Calls of mbus4 are served by mbusproxy, which sees the statements that a client sends, but not those inside " +
	"functions, procedures, triggers, rules and DO blocks. Call it in a statement of the client, before or after this one in its transaction."

// editMarker turns an error raised with the engine's marker; call is the number of the call, 0 where the
// statement's text does not hold it.
func editMarker(r *Report, secret string) (call int, ok bool) {
	text, ok := marked(r.Message, errorMarker)
	if !ok {
		return 0, false
	}
	number, rest, _ := strings.Cut(text, " ")
	code, message, found := strings.Cut(rest, " ")
	call, err := strconv.Atoi(number)
	switch {
	case code == secret:
		code, message, found = strings.Cut(message, " ")
	case !fromStored(r):
		return 0, false
	}
	if err != nil || !found || len(code) != 5 {
		return 0, false
	}
	r.Code, r.Message, r.Detail, r.Hint, r.Where = code, message, "", hintFor(code, message), ""
	r.Internal = true
	return call, true
}

// marked returns what follows marker in a message that quotes it, up to the closing quote.
func marked(message, marker string) (string, bool) {
	i := strings.Index(message, marker)
	if i <= 0 {
		return "", false
	}
	text := message[i+len(marker):]
	// Languages differ in their quotes; the closing one is the last in the message.
	end := -1
	for _, q := range []string{`"`, "»", "«", "”", "“", "'", "」"} {
		end = max(end, strings.LastIndex(text, q))
	}
	if end >= 0 {
		text = text[:end]
	}
	return strings.TrimRight(text, " \u00a0"), true
}

// The engine raises a NOTICE, or with an SQLSTATE of class 01 a WARNING, by having the server complain about a tsquery without lexemes: of all
// that an expression can call, it is the one that gives a NOTICE (so client_min_messages holds)
// and quotes its argument. The argument is blanks and tabs, one for each bit of the notice's text.
func editNotice(r *Report, secret string) bool {
	if r.Severity != "NOTICE" || !strings.Contains(r.Message, noticeStart) {
		return false
	}
	i := strings.Index(r.Message, noticeStart)
	bits := r.Message[i:]
	var text []byte
	for len(bits) >= 8 {
		var c byte
		for _, b := range bits[:8] {
			c <<= 1
			switch b {
			case '\t':
				c |= 1
			case ' ':
			default:
				return false
			}
		}
		if c != 0 {
			text = append(text, c)
		}
		bits = bits[8:]
	}
	words := strings.SplitN(string(text), " ", 5) // m4, the call's number, the secret, SQLSTATE, message
	if len(words) != 5 || words[2] != secret || len(words[3]) != 5 {
		return false
	}
	code, message := words[3], words[4]
	r.Code, r.Message, r.Where, r.Internal = code, message, "", true
	if strings.HasPrefix(code, "01") { // class 01: warning
		r.Severity = "WARNING"
	}
	return true
}

// noticeStart is "m4 " in the notation of editNotice: blank for 0, tab for 1.
const noticeStart = " \t\t \t\t \t" + "  \t\t \t  " + "  \t     "
