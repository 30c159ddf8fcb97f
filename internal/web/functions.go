package web

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// functions are those of the templates. None of them makes markup.
var functions = template.FuncMap{
	"asset": assetPath, "num": number, "dur": duration, "when": when, "stamp": stamp, "link": link, "rate": rate, "bytes": byteCount, "path": func() string { return Path },
	"text": func(s string) Text { return Text(s) }, "list": func(v ...any) []any { return v }, "dict": dict, "plural": plural,
}

// number writes a count with thin spaces between its thousands.
func number(v any) string {
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

// plural is a count with its noun.
func plural(v any, one, more string) string {
	if fmt.Sprint(v) == "1" {
		return "1 " + one
	}
	return number(v) + " " + more
}

// rate writes a number per second.
func rate(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case v >= 100 || v == 0:
		return number(int64(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// byteCount writes a number of bytes.
func byteCount(v any) string {
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

// duration writes seconds for people; negative ones are those of nothing.
func duration(seconds float64) string {
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

// when writes a time; the empty one is none.
func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// stamp writes a time for machines.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// link is an address of ours: a path below Path, and fields with their values.
func link(to string, fields ...any) string {
	q := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		v := fields[i+1]
		if t, is := v.(Text); is {
			v = t.Raw()
		}
		if s := fmt.Sprint(v); s != "" {
			q.Set(fmt.Sprint(fields[i]), s)
		}
	}
	if len(q) == 0 {
		return Path + to
	}
	return Path + to + "?" + q.Encode()
}

// dict makes a map for a template that takes several values.
func dict(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m
}
