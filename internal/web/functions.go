package web

import (
	"fmt"
	"html/template"
	"net/url"

	"mbusproxy/internal/web/format"
)

// functions are those of the templates. None of them makes markup.
var functions = template.FuncMap{
	"asset": assetPath, "num": format.Number, "dur": format.Duration, "when": format.Time, "stamp": format.Stamp, "link": link, "rate": format.Rate, "bytes": format.Bytes, "path": func() string { return Path },
	"text": func(s string) Text { return Text(s) }, "list": func(v ...any) []any { return v }, "dict": dict, "plural": format.Plural,
}

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
