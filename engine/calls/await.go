package calls

import (
	"strings"

	"mbusproxy/sqlfuncs"
)

// Await returns the probe query of a call that waits, see sql/prelude/await.sql. Its answer is read by package waiting.
func (t *Texts) Await(site Site, call PreludeCall) string {
	literal := func(name string) string {
		if v := call.Args[name]; v != nil {
			return sqlfuncs.QuoteLiteral(*v)
		}
		return "null"
	}
	p := pieces(strings.Split(t.fill("prelude/await", map[string]any{
		"Parts": newScope(shape{}),
		"Queue": literal("qname"), "Consumer": literal("cname"), "Wait": literal(call.Func.Wait), "Selector": literal("selector"),
		"Select": call.Func.Condition != "",
	}), zero))
	return strings.ReplaceAll(t.put(p, ownNames(call.mark(), site.HstoreSchema), ""), "\n", " ")
}

// Look returns the statement by which package waiting looks for all who wait, see sql/whole/look.sql.
func (t *Texts) Look() string {
	return t.put(strings.Split(t.fill("whole/look", newScope(shape{})), zero), sqlfuncs.Names{}, "")
}
