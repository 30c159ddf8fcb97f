package calls

import (
	"fmt"
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

// values are what the templates name/ours and name/guard are filled in with.
func (c Unqualified) values(mark string) map[string]string {
	named := make([]string, len(c.Named))
	for i, name := range c.Named {
		named[i] = sqlfuncs.QuoteLiteral(name)
	}
	return map[string]string{
		"Name": sqlfuncs.QuoteLiteral(c.Name), "Args": strconv.Itoa(c.Args), "Mark": mark,
		"Named": "array[" + strings.Join(named, ", ") + "]::pg_catalog.text[]",
	}
}

// ProbeQuery returns the query whose answer is a text with a 1 for each of the calls that means a function of
// ours in the session which runs it, and a 0 for each that does not.
func (t *Texts) ProbeQuery(calls []Unqualified) string {
	parts := make([]string, len(calls))
	for i, c := range calls {
		parts[i] = "case when " + t.fill("name/ours", c.values("")) + " then '1' else '0' end"
	}
	return "select " + strings.Join(parts, " || ")
}

// Guard returns an expression that is true where such a call means a function of ours, and else fails. mark goes into
// the marker of that error, see sqlfuncs.Names.
func (t *Texts) Guard(name string, args int, named []string, mark string) string {
	return t.fill("name/guard", Unqualified{name, args, named}.values(mark))
}

// guardBlock is the PL/pgSQL block that evaluates such an expression.
func guardBlock(guard string) string { return "begin\n    perform " + guard + ";\nend" }

// ImpliedArgs returns SQL for what the name of a call gives: the queue, and for some the consumer.
// A name that can be split in several ways is decided by which queue and consumer exist.
func (t *Texts) ImpliedArgs(m sqlfuncs.Match, mark string) []string {
	if len(m.Readings) == 0 {
		return nil
	}
	out := make([]string, len(m.Readings[0]))
	if len(m.Readings) == 1 {
		for i, name := range m.Readings[0] {
			out[i] = sqlfuncs.QuoteLiteral(name)
		}
		return out
	}
	var pairs, described []string
	for _, r := range m.Readings {
		pairs = append(pairs, fmt.Sprintf("(%s, %s)", sqlfuncs.QuoteLiteral(r[0]), sqlfuncs.QuoteLiteral(r[1])))
		described = append(described, fmt.Sprintf(`queue "%s" with consumer "%s"`, r[0], r[1]))
	}
	for i, column := range []string{"qname", "name"} {
		out[i] = t.fill("name/reading", map[string]any{
			"First": sqlfuncs.QuoteLiteral(m.Readings[0][i]), "Column": column, "Pairs": pairs, "Mark": mark,
			"Refusal": sqlfuncs.QuoteLiteral(fmt.Sprintf("mbus4.%s is ambiguous: %s", m.Name, strings.Join(described, " or "))),
		})
	}
	return out
}
