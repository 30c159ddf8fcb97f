package format

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Number writes a count with thin spaces between its thousands.
func Number(v any) string {
	s := fmt.Sprint(v)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "−", s[1:]
	}
	var parts []string
	for len(s) > 3 {
		parts = append([]string{s[len(s)-3:]}, parts...)
		s = s[:len(s)-3]
	}
	return sign + strings.Join(append([]string{s}, parts...), "\u202f")
}

// Plural is a count with its noun.
func Plural(v any, one, more string) string {
	if fmt.Sprint(v) == "1" {
		return "1 " + one
	}
	return Number(v) + " " + more
}

// Rate writes a number per second.
func Rate(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case v >= 100 || v == 0:
		return Number(int64(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// Bytes writes a number of bytes.
func Bytes(v any) string {
	n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil {
		return "–"
	}
	unit := 0
	for n >= 1024 && unit < 5 {
		n /= 1024
		unit++
	}
	return strconv.FormatFloat(n, 'f', min(unit, 1), 64) + " " + [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}[unit]
}

// Duration writes seconds for people; negative ones are those of nothing.
func Duration(seconds float64) string {
	if seconds < 0 || math.IsNaN(seconds) {
		return "–"
	}
	s := int64(seconds)
	switch {
	case seconds < 1:
		return strconv.FormatInt(int64(seconds*1000), 10) + " ms"
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%d h %d min", s/3600, s/60%60)
	}
	return fmt.Sprintf("%d d %d h", s/86400, s/3600%24)
}

// Time writes a time; the empty one is none.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// Stamp writes a time for machines.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
