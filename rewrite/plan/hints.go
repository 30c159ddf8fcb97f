package plan

import (
	"fmt"
	"regexp"
	"strings"

	"mbusproxy/sqlfuncs"
)

// hints are the hints of the errors that the engine raises, by SQLSTATE.
var hints = map[string]string{
	"42704": "Create it with mbus4.create_queue(qname, ncons) or mbus4.create_consumer(qname, cname); names are folded to lower case.",
	"42602": "Names are 1 to 32 characters of a-z, 0-9 and _; dmq and temp are reserved.",
	"54000": "Temporary consumers go with the sessions that made them; those of a session that is still needed can be made once and kept.",
	"23505": "A message is posted again under its iid only after it was consumed.",
}

// semaphoreHint is the hint of 42704 where the error is about a semaphore.
const semaphoreHint = "Create it with mbus4.semaphore_get_or_create(key)."

// changedHint is the hint of 42725 where a call without the schema no longer means a function of ours.
const changedHint = "The search_path, or what is in it, has changed since the statement was read. Write the schema, prepare the statement again, " +
	"or send it in a message of its own."

// eitherOrder matches the message of 42725 where each of two arguments may be the queue: the function, and both.
var eitherOrder = regexp.MustCompile(`^(mbus4\.[a-z_]+)\('([^']*)', '([^']*)'\) may mean either order`)

// hintFor returns the hint of an error that the engine raises.
func hintFor(code, message string) string {
	if code == "42725" && strings.Contains(message, " no longer means ") {
		return changedHint
	}
	if m := eitherOrder.FindStringSubmatch(message); code == "42725" && m != nil {
		return fmt.Sprintf(`Name the arguments: %[1]s(qname => '%[2]s', cname => '%[3]s') is about consumer "%[3]s" of queue "%[2]s", `+
			`%[1]s(qname => '%[3]s', cname => '%[2]s') about consumer "%[2]s" of queue "%[3]s".`, m[1], m[2], m[3])
	}
	if code == "42704" && strings.HasPrefix(message, "semaphore ") {
		return semaphoreHint
	}
	return hints[code]
}

// Files of the server's source. A report says in which of them it was made, whatever language it is in, and no client can
// choose that: what RAISE says comes from a file of PL/pgSQL's.
const (
	fileIntegers  = "numutils.c"   // casts to integer
	fileFunctions = "parse_func.c" // looks for the function of a call
	fileSchemas   = "namespace.c"  // looks for a schema
	fileRights    = "aclchk.c"
)

// editUnseen adds a hint to an error about a call that the proxy did not see, since it stands in a function, say; or about
// a function in the database that serves calls and is missing.
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
		// Without a context, it may be about a name of the client's own that has a dot in it.
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
		// Without a context, it is about the client's own statement, which the server explains itself.
		if r.Where == "" || r.File != fileSchemas || !strings.Contains(r.Message, sqlfuncs.Schema) {
			return false
		}
		r.Hint = unseenHint
		return true
	}
	return false
}

// unseenHint explains why a call was not served.
const unseenHint = "Calls of mbus4 are served by mbusproxy, which sees the statements that a client sends, but not those inside " +
	"functions, procedures, triggers, rules and DO blocks. Call it in a statement of the client, before or after this one in its transaction."

// MissingFunction returns the name of the function that the server did not find, where the report is about that.
func MissingFunction(r *Report) (name string, ok bool) {
	if r.Code != codeUndefinedFunction || r.File != fileFunctions {
		return "", false
	}
	before, _, called := strings.Cut(r.Message, "(")
	name = before[strings.LastIndexAny(before, " »«“”„\u00a0\"")+1:]
	return strings.TrimFunc(name, func(c rune) bool { return c > 0x7f || c == '"' }), called
}
