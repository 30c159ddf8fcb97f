package plan

import (
	"strings"

	"mbusproxy/sqlfuncs"
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

// Files of the server's source. A report says in which it was made, whatever the language of its words, and
// nothing that a client writes can choose it: what RAISE says comes from PL/pgSQL's own.
const (
	fileIntegers  = "numutils.c"   // casts to integer
	FileFunctions = "parse_func.c" // looks for the function of a call
	fileSchemas   = "namespace.c"  // looks for a schema
	fileRights    = "aclchk.c"
)

// editUnseen explains what the server says of a call that it got as it is, because it stands where the
// proxy does not look, or of a function of ours that is not there.
func editUnseen(r *Report) bool {
	switch r.Code {
	case CodeUndefinedFunction:
		if r.File != FileFunctions {
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
