package calls

import (
	"strconv"
	"strings"

	"mbusproxy/sqlfuncs"
)

// Unqualified describes a call without the schema, as far as it decides whether the call means a function of ours.
type Unqualified struct {
	Name  string
	Args  int      // how many arguments
	Named []string // the names of those given by name
}

// fill puts what is known of the call into a text of sql/name.
func (c Unqualified) fill(text string) string {
	named := make([]string, len(c.Named))
	for i, name := range c.Named {
		named[i] = sqlfuncs.QuoteLiteral(name)
	}
	return strings.NewReplacer("{called}", sqlfuncs.QuoteLiteral(c.Name), "{args}", strconv.Itoa(c.Args),
		"{named}", "array["+strings.Join(named, ", ")+"]::pg_catalog.text[]").Replace(text)
}

// ProbeQuery returns the query whose answer is a text with a 1 for each of the calls that means a function of
// ours in the session which runs it, and a 0 for each that does not.
func (t *Texts) ProbeQuery(calls []Unqualified) string {
	parts := make([]string, len(calls))
	for i, c := range calls {
		parts[i] = "case when " + c.fill(t.ours) + " then '1' else '0' end"
	}
	return "select " + strings.Join(parts, " || ")
}

// Guard returns an expression that is true where such a call means a function of ours, and else fails.
func (t *Texts) Guard(name string, args int, named []string) string {
	c := Unqualified{name, args, named}
	return c.fill(strings.ReplaceAll(t.guard, "{ours}", t.ours))
}

// guardBlock is the PL/pgSQL block that evaluates such an expression.
func guardBlock(guard string) string { return "begin\n    perform " + guard + ";\nend" }
