package input

import (
	"regexp"
	"strings"
	"time"
)

var timeForm = regexp.MustCompile(`^([0-9]{4}-[0-9]{2}-[0-9]{2})([ T]([0-9]{2}:[0-9]{2})(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[-+](0[0-9]|1[0-4])(:?[0-5][0-9])?)?)?$`)

// Time reads a timestamp, or a date where a clock is not wanted, in ISO 8601 and returns it as
// Postgres reads it under every DateStyle. A time zone means nothing to a timestamp without one.
func Time(s string, clocked bool) (string, bool) {
	if s == "infinity" || s == "-infinity" {
		return s, true
	}
	m := timeForm.FindStringSubmatch(s)
	if m == nil || !clocked && m[2] != "" || strings.HasPrefix(m[1], "0000") {
		return "", false
	}
	out, layout := m[1], "2006-01-02"
	if clocked {
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
