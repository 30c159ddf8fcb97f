package calls

import (
	"strings"

	"mbusproxy/sqlfuncs"
)

// Await returns the probe query of a call that waits, which calls the function of sql/whole/await.sql. Its answer is read by package app.
func (t *Texts) Await(site Site, call PreludeCall) string {
	literal := func(name string) string {
		if v := call.Args[name]; v != nil {
			return sqlfuncs.QuoteLiteral(*v)
		}
		return "null"
	}
	return "select " + sqlfuncs.Schema + "." + t.helperName(await, site.HstoreSchema) + "(" + strings.Join([]string{
		sqlfuncs.QuoteLiteral(call.mark()), literal("qname"), literal("cname"), literal(call.Func.Condition), literal(call.Func.Wait),
	}, ", ") + ")"
}

// Look returns the statement by which package waiting looks for all who wait, see sql/whole/look.sql.
func (t *Texts) Look() string {
	return t.put(strings.Split(t.fill("whole/look", newScope(shape{})), zero), sqlfuncs.Names{}, "")
}
