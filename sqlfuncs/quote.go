package sqlfuncs

import (
	"strconv"
	"strings"
)

// QuoteLiteral quotes a string as an SQL literal that means the same whatever
// standard_conforming_strings is, in any client encoding: where a backslash would have to be doubled
// (in Shift JIS and others it may be half of a character) the literal is dollar-quoted.
func QuoteLiteral(s string) string {
	if !strings.Contains(s, `\`) {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	tag := "$m"
	for i := 1; strings.Contains(s, tag); i++ {
		tag = "$m" + strconv.Itoa(i) + "_"
	}
	return tag + "$" + s + tag + "$"
}

// QuoteIdent quotes an SQL identifier.
func QuoteIdent(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
