package selector

import (
	"strings"
)

const maxElements = 1000 // of an array that is a constant

// arrayLiteral reads the text of an array of one dimension, such as {a,"b c",NULL}.
func (c *compiler) arrayLiteral(l literal, t typ, at int) (*expr, *Error) {
	elems, ok := readArray(l.text)
	if !ok || len(elems) > maxElements {
		return nil, refuse(at, codeInvalidText, "Write an array of one dimension, for example {a,b}.", "malformed array literal: \"%s\"", l.text)
	}
	args := make([]*expr, len(elems))
	for i, s := range elems {
		var err *Error
		if args[i], err = c.literal(s, t.elem(), at); err != nil {
			return nil, err
		}
	}
	return c.arrayOf(t.elem(), args, at), nil
}

// arrayOf makes an array of values of one type.
func (c *compiler) arrayOf(elem typ, args []*expr, at int) *expr {
	t := elem | array
	vals := make([]string, len(args))
	for i, a := range args {
		vals[i] = c.as(a, elem)
	}
	if len(args) == 0 {
		return &expr{typ: t, phys: t, val: "'{}'::" + c.sql(t), nulls: true, lit: &literal{}, at: at}
	}
	e := merge(t, "array["+strings.Join(vals, ", ")+"]::"+c.sql(t), args...).notStrict()
	constant, holes := true, false
	for _, a := range args {
		constant, holes = constant && a.lit != nil, holes || a.lit != nil && a.lit.null
	}
	if constant {
		e.lit = &literal{elems: len(args), holes: holes}
	}
	e.at = at
	return e
}

// readArray reads the elements as array_in does.
func readArray(s string) ([]literal, bool) {
	s = strings.Trim(s, spaces)
	if len(s) < 2 || s[0] != '{' || s[len(s)-1] != '}' {
		return nil, false
	}
	s = s[1:]
	var out []literal
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
func arrayElement(s string) (l literal, rest string, ok bool) {
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
				return literal{text: b.String()}, strings.TrimLeft(s[i+1:], spaces), true
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
		return literal{null: true}, s[end:], true
	}
	return literal{text: word}, s[end:], true
}
