package calls

import (
	"strconv"
	"strings"

	"mbusproxy/sqlfuncs"
)

// Await returns the probe query of a call that waits, which calls the function of
// sql/whole/await.sql, or for one that waits for one message that of sql/whole/await_message.sql.
// Its answer is read by package app.
func (t *Texts) Await(site Site, call PreludeCall) string {
	literal := func(name string) string {
		if v := call.Args[name]; v != nil {
			return sqlfuncs.QuoteLiteral(*v)
		}
		return "null"
	}
	helper, what := await, call.Func.Condition
	if call.Func.WaitsForOne() {
		helper, what = awaitMessage, "msgid"
	}
	args := []string{sqlfuncs.QuoteLiteral(call.mark()), literal("qname"), literal("cname"), literal(what), literal(call.Func.Wait)}
	if helper == await {
		args = append(args, literal(call.Func.Amount), literal("lease"), strconv.FormatBool(call.Func.Serves == "lease"))
	}
	return "select " + sqlfuncs.Schema + "." + t.helperName(helper) + "(" + strings.Join(args, ", ") + ")"
}

// Look returns the statement by which package waiting looks for all who wait, see sql/whole/look.sql.
func (t *Texts) Look() string {
	return t.put(strings.Split(t.fill("whole/look", newScope(shape{})), zero), sqlfuncs.Names{}, "")
}

// LookForMessages returns the statement by which it looks for those who wait for one message each,
// see sql/whole/look_messages.sql.
func (t *Texts) LookForMessages() string {
	return t.put(strings.Split(t.fill("whole/look_messages", newScope(shape{})), zero), sqlfuncs.Names{}, "")
}
