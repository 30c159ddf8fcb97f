package sqlfuncs

import "strings"

// QuoteLiteral quotes a string as an SQL literal that means the same whatever
// standard_conforming_strings is.
func QuoteLiteral(s string) string {
	q := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return "E" + strings.ReplaceAll(q, `\`, `\\`)
	}
	return q
}
