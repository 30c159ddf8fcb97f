package input

import "strings"

// Hstore reads the text of a hstore as hstore_in does, and writes it with all quotes.
func Hstore(s string) (string, bool) {
	var pairs []string
	for {
		s = strings.TrimLeft(s, spaces)
		if s == "" {
			return strings.Join(pairs, ", "), true
		}
		key, _, rest, ok := hstoreWord(s, false)
		if !ok {
			return "", false
		}
		rest = strings.TrimLeft(rest, spaces)
		if !strings.HasPrefix(rest, "=>") {
			return "", false
		}
		value, quoted, rest, ok := hstoreWord(strings.TrimLeft(rest[2:], spaces), true)
		if !ok {
			return "", false
		}
		if !quoted && strings.EqualFold(value, "null") && len(value) == 4 {
			value = "NULL"
		} else {
			value = DoubleQuoted(value)
		}
		pairs = append(pairs, DoubleQuoted(key)+"=>"+value)
		s = strings.TrimLeft(rest, spaces)
		if s != "" && s[0] != ',' {
			return "", false
		}
		s = strings.TrimPrefix(s, ",")
	}
}

// hstoreWord reads a key or value. A bare key ends at = or a space, a bare value at a comma or a space.
func hstoreWord(s string, isValue bool) (word string, quoted bool, rest string, ok bool) {
	end := byte('=')
	if isValue {
		end = ','
	}
	if s == "" || s[0] == end {
		return "", false, "", false
	}
	var b strings.Builder
	i := 0
	if quoted = s[0] == '"'; quoted {
		i = 1
	}
	for ; i < len(s); i++ {
		switch ch := s[i]; {
		case ch == '\\':
			if i++; i == len(s) {
				return "", false, "", false
			}
			b.WriteByte(s[i])
		case quoted && ch == '"':
			return b.String(), true, s[i+1:], true
		case !quoted && (ch == end || strings.IndexByte(spaces, ch) >= 0):
			return b.String(), false, s[i:], true
		default:
			b.WriteByte(ch)
		}
	}
	return b.String(), false, "", !quoted
}

// DoubleQuoted writes a word as hstore and arrays read it.
func DoubleQuoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
