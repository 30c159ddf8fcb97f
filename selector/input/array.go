package input

import "strings"

// Element is an element of an array: its text, or null.
type Element struct {
	Text string
	Null bool
}

// Array reads the elements of an array of one dimension as array_in does.
func Array(s string) ([]Element, bool) {
	s = strings.Trim(s, spaces)
	if len(s) < 2 || s[0] != '{' || s[len(s)-1] != '}' {
		return nil, false
	}
	s = s[1:]
	var out []Element
	if strings.Trim(s, spaces) == "}" {
		return out, true
	}
	for {
		l, rest, ok := arrayElement(strings.TrimLeft(s, spaces))
		if !ok {
			return nil, false
		}
		out = append(out, l)
		switch {
		case rest == "}":
			return out, true
		case rest == "" || rest[0] != ',':
			return nil, false
		}
		s = rest[1:]
	}
}

// arrayElement reads one element; rest begins with what ends it.
func arrayElement(s string) (l Element, rest string, ok bool) {
	if strings.HasPrefix(s, `"`) {
		var b strings.Builder
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '\\':
				if i++; i == len(s) {
					return l, "", false
				}
				b.WriteByte(s[i])
			case '"':
				return Element{Text: b.String()}, strings.TrimLeft(s[i+1:], spaces), true
			default:
				b.WriteByte(s[i])
			}
		}
		return l, "", false
	}
	end := strings.IndexAny(s, `,{}"\`)
	if end < 0 || s[end] != ',' && s[end] != '}' {
		return l, "", false
	}
	word := strings.TrimRight(s[:end], spaces)
	if word == "" {
		return l, "", false
	}
	if strings.EqualFold(word, "null") {
		return Element{Null: true}, s[end:], true
	}
	return Element{Text: word}, s[end:], true
}
