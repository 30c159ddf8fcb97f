package selector

import (
	"regexp"
	"strings"
	"time"
)

const hintISO = "Dates and times are written as 2024-12-31 or 2024-12-31 23:59:59.999999, whatever DateStyle is."

var timeForm = regexp.MustCompile(`^([0-9]{4}-[0-9]{2}-[0-9]{2})([ T]([0-9]{2}:[0-9]{2})(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[-+](0[0-9]|1[0-4])(:?[0-5][0-9])?)?)?$`)

// readTime reads a date or timestamp in ISO 8601 and returns it as Postgres reads it under every DateStyle. A time zone
// means nothing to a timestamp without one.
func readTime(s string, t typ) (string, bool) {
	if s == "infinity" || s == "-infinity" {
		return s, true
	}
	m := timeForm.FindStringSubmatch(s)
	if m == nil || t == date && m[2] != "" || strings.HasPrefix(m[1], "0000") {
		return "", false
	}
	out, layout := m[1], "2006-01-02"
	if t == timestamp {
		clock, seconds := m[3], m[4]
		if clock == "" {
			clock = "00:00"
		}
		if seconds == "" {
			seconds = ":00"
		}
		out += " " + clock + seconds
		layout += " 15:04:05"
	}
	if _, err := time.Parse(layout, out); err != nil { // a fraction of seconds needs no layout
		return "", false
	}
	return out, true
}
