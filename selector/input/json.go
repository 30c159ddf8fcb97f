package input

import (
	"encoding/json"
	"regexp"
	"strings"
)

// maxLevels is how many arrays and objects may stand in one another.
const maxLevels = 100

// longExponent finds numbers that may be greater than any server's.
var longExponent = regexp.MustCompile(`[0-9][eE][-+]?[0-9]{3}`)

// JSON reports whether every server reads a text as jsonb: it is JSON, and holds nothing of which
// some of JSON is not read: characters that no text has, numbers out of range, too many levels.
func JSON(s string) bool {
	if strings.Contains(s, `\u`) || longExponent.MatchString(s) {
		return false
	}
	level, deepest := 0, 0
	for _, r := range s { // those within strings are counted, too
		switch r {
		case '[', '{':
			level++
			deepest = max(deepest, level)
		case ']', '}':
			level--
		}
	}
	return deepest <= maxLevels && json.Valid([]byte(s))
}
