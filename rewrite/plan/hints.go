package plan

import (
	"fmt"
	"regexp"
	"strings"

	"mbusproxy/sqlfuncs"
)

// changedHint is the hint of 42725 where a call without the schema no longer means a function of ours.
const changedHint = "The search_path, or what is in it, has changed since the statement was read. Write the schema, prepare the statement again, " +
	"or send it in a message of its own."

// eitherOrder matches the message of 42725 where each of two arguments may be the queue: the function, and both.
var eitherOrder = regexp.MustCompile(`^(mbus4\.[a-z_]+)\("([^"]*)", "([^"]*)"\) may mean either order`)

// hintFor returns the hint of an error that the engine raises. c is the call that failed, nil where that is not known.
func hintFor(code, message string, c *callSite) string {
	switch code {
	case codeFeatureNotSupported: // a selector that was not checked
		return "Prepare the statement again, or send the call in a statement of its own."
	case codeInvalidText:
		if strings.HasPrefix(message, "the header seenby ") {
			return "Write it with braces, for example hstore('seenby', '{db1,db2}')."
		}
		return bracesHint
	case "22004":
		if strings.HasPrefix(message, "the process ") {
			return "Give the number by which this process is known to the queue, for example pg_backend_pid()."
		}
		if strings.HasPrefix(message, "the cron text ") {
			return "Say when to post, for example '30 6 * * 1-5' or @daily."
		}
		if strings.HasPrefix(message, "this row is not a message") {
			return "Give the row as it was read: select mbus4.retry(m, 'what failed') from mbus4.consume('q') m."
		}
	case "22023":
		return hintBound(message)
	case "23505":
		return "A message is posted again under its iid only after it was consumed. Leave the iid out for a fresh one."
	case "40001":
		return "Run the transaction again."
	case "42602":
		return "Names are 1 to 32 characters of a-z, 0-9 and _; dmq and temp are reserved."
	case codeUndefinedObject:
		return hintMissing(message, c)
	case "42710":
		if strings.HasPrefix(message, "the trigger ") {
			return "To give it another selector drop it first: mbus4.drop_trigger(src, dst)."
		}
		return "To give it another selector drop it first, with its messages: mbus4.drop_consumer(qname, cname)."
	case "42725":
		if strings.Contains(message, " still has message ") {
			return "Name the consumer that consumed it: mbus4.retry(m, 'what failed', cname => …). Without a name it is default, and that has the message."
		}
		if strings.Contains(message, " no longer means ") {
			return changedHint
		}
		if m := eitherOrder.FindStringSubmatch(message); m != nil {
			return fmt.Sprintf(`Name the arguments: %[1]s(qname => '%[2]s', cname => '%[3]s') is about consumer "%[3]s" of queue "%[2]s", `+
				`%[1]s(qname => '%[3]s', cname => '%[2]s') about consumer "%[2]s" of queue "%[3]s".`, m[1], m[2], m[3])
		}
		form := "consume(qname, cname)"
		switch {
		case c != nil && c.fn.Serves == "consumen":
			form = "consumen(qname, cname, amt)"
		case c != nil && c.fn.Serves == "take_from":
			form = "dyn_consume(qname, $$t.iid = '…'$$, cname)"
		}
		return "Give queue and consumer as arguments: " + sqlfuncs.Schema + "." + form + "."
	case "42809":
		if strings.Contains(message, " has only the consumer ") {
			return "Consume from it as that: mbus4.consume('dmq'). For copies of what comes to it, make a queue and mbus4.create_trigger('dmq', …)."
		}
	case "42501":
		if strings.HasSuffix(message, ", which is gone") {
			return "End it with mbus4.unschedule, and make it anew."
		}
		if strings.HasPrefix(message, "schedule ") {
			return "Take another name, or become a member of that role."
		}
	case "42P17":
		return "A trigger must not lead back to a queue that feeds it; mbus4.drop_trigger(src, dst) takes one away."
	case "54000":
		if strings.HasSuffix(message, " schedules, and no room for more") {
			return "End those that are not needed: select mbus4.unschedule(name) from mbus4.schedules where owner = current_user and …. One schedule can stand for many if a consumer posts what follows."
		}
		return "Temporary consumers go with the sessions that made them; those of a session that is still needed can be made once and kept."
	}
	return ""
}

// hintBound returns the hint of 22023, where a value is not one that the parameter takes.
func hintBound(message string) string {
	switch {
	case strings.HasPrefix(message, "the number of consumers "):
		return "It is kept for others to read and limits nothing; 1 will do."
	case strings.HasPrefix(message, "the name of a schedule "):
		return "The name stands for the schedule: mbus4.unschedule(name) ends it."
	case strings.HasSuffix(message, " is not a lease"):
		return "Give the column lease of what mbus4.lease returned, or what mbus4.extend returned."
	case strings.HasPrefix(message, "cname must not be given "):
		return "Leave cname out: the lease names its consumer. It is for mbus4.retry of a message that was consumed."
	case strings.HasPrefix(message, "a lease must last "):
		return "Give a span of time such as '5 min'; null is what mbus4.alter_consumer has set, or 30 seconds."
	case strings.HasPrefix(message, "delay must be "):
		return "Give a span of time such as '5 min'; null is the pause that the consumer's policy says."
	case boundOfPolicy.MatchString(message):
		return "What is not given stays as it is. Without a policy there are 10 attempts, pauses of 1 second that double up to 1 hour, jitter 0.1 and leases of 30 seconds."
	}
	return ""
}

// boundOfPolicy matches the messages of 22023 of alter_consumer.
var boundOfPolicy = regexp.MustCompile(`^(max_attempts|backoff|max_backoff|jitter|lease) must `)

// hintMissing returns the hint of 42704, by what is missing and whether the call would have used or removed it.
func hintMissing(message string, c *callSite) string {
	const (
		folded = "; names are folded to lower case."
		form   = "; names are lower case letters, digits and _."
		noOne  = `" has no consumer `
	)
	drops := c != nil && strings.HasPrefix(c.fn.Name, "drop_")
	switch i := strings.LastIndex(message, noOne); {
	case strings.HasPrefix(message, "semaphore "):
		return "Create it with mbus4.semaphore_get_or_create(key)."
	case i >= 0 && drops:
		return "select * from mbus4.consumer lists the consumers" + folded
	case i >= 0:
		if amount := strings.Trim(message[i+len(noOne):], `"`); isNumber(amount) && c != nil && MayMeanAmount(c.fn) {
			return AmountHint(amount)
		}
		return "Create it with mbus4.create_consumer(qname, cname)" + form
	case strings.HasPrefix(message, "queue null "):
		return "The name of the queue was given as null."
	case strings.HasPrefix(message, `queue "temp.`):
		return "A temporary queue is gone when the session that created it has ended."
	case drops:
		return "select * from mbus4.queue lists the queues" + folded
	case c != nil && c.fn.Pattern != "":
		return fmt.Sprintf("The queue is what stands for <q> in mbus4.%s. Create it with mbus4.create_queue(qname, ncons)", c.fn.DisplayName()) + form
	}
	return "Create it with mbus4.create_queue(qname, ncons)" + form
}

// MayMeanAmount reports whether a number for the consumer in a call of f may be meant as the number of messages.
func MayMeanAmount(f *sqlfuncs.Func) bool {
	return f.Pattern == "" && (f.Name == "consume" || f.Name == "consumen")
}

// AmountHint is the hint where a call gives an amount for the consumer.
func AmountHint(amount string) string {
	return fmt.Sprintf("The second argument is the consumer. For %[1]s messages write mbus4.consumen(qname, amt => %[1]s).", amount)
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// Files of the server's source. A report says in which of them it was made, whatever language it is
// in, and no client can choose that: what RAISE says comes from a file of PL/pgSQL's.
const (
	fileIntegers  = "numutils.c"   // casts to integer
	fileFunctions = "parse_func.c" // looks for the function of a call
	fileSchemas   = "namespace.c"  // looks for a schema
	fileRelations = "parse_relation.c"
	fileRights    = "aclchk.c"
	fileHstore    = "hstore_io.c"  // reads hstores
	fileArrays    = "arrayfuncs.c" // reads arrays
	fileTimes     = "datetime.c"   // reads times
	fileModifies  = "nodeModifyTable.c"
	fileBooleans  = "bool.c" // reads booleans
)

// editUnseen adds a hint to an error about a call that the proxy did not see, since it stands in a
// function, say, or is of a function that there is not; about a table of the schema that there is
// not; or about a function in the database that serves calls and is missing. body says that the
// text creates a function.
func editUnseen(r *Report, body bool) bool {
	if r.Code == codeUndefinedSchema {
		if r.File != fileSchemas || !strings.Contains(r.Message, sqlfuncs.Schema) {
			return false
		}
		r.Hint = "The schema is created by the first statement with a call of " + sqlfuncs.Schema + " that a client sends, or by: mbusproxy init. " + unseenHint
		return true
	}
	if r.Code == codeUndefinedTable {
		if r.File != fileRelations || !strings.Contains(r.Message, sqlfuncs.Schema+".") {
			return false
		}
		r.Hint = "A queue is no table: select * from mbus4.queue lists the queues, and mbus4.consume(qname) gives the next message of one."
		return true
	}
	called, missing := MissingFunction(r)
	name, ours := strings.CutPrefix(called, sqlfuncs.Schema+".")
	if !missing || !ours {
		return false
	}
	if strings.HasPrefix(name, "at_") {
		r.Hint = "This function serves calls in places such as WHERE. It is created by: mbusproxy init"
		return true
	}
	match, known := sqlfuncs.Lookup(name)
	inside := body || r.Where != ""
	switch {
	case known && inside:
		r.Hint = unseenHint + StoredHint(match.Func)
	case known:
		return false // it is about a name of the client's own that has a dot in it
	case inside:
		r.Hint = sqlfuncs.Unknown(name) + " " + unseenHint
	default:
		r.Hint = sqlfuncs.Unknown(name)
	}
	return true
}

// unseenHint explains why a call was not served.
const unseenHint = "mbusproxy serves calls of mbus4 in the statements that a client sends, not inside functions, procedures, triggers, rules and " +
	"DO blocks. Send the call as a statement of its own, before or after this one in the transaction."

// StoredHint says what code that is stored in the database can do instead of a call, if anything;
// it follows another sentence.
func StoredHint(f *sqlfuncs.Func) string {
	switch f.Serves {
	case "post":
		return " Or insert into a view that mbus4.create_view(qname) makes: that posts, and works anywhere."
	case "consume", "consumen":
		return " Or select from a view that mbus4.create_view(qname) makes: that consumes, and works anywhere."
	case "add_message":
		return " Or insert into mbus4.work_queue (payload), which works anywhere."
	}
	return ""
}

// MissingFunction returns the name of the function that the server did not find, where the report is about that.
func MissingFunction(r *Report) (name string, ok bool) {
	if r.Code != codeUndefinedFunction || r.File != fileFunctions {
		return "", false
	}
	before, _, called := strings.Cut(r.Message, "(")
	name = before[strings.LastIndexAny(before, " »«“”„\u00a0\"")+1:]
	return strings.TrimFunc(name, func(c rune) bool { return c > 0x7f || c == '"' }), called
}
