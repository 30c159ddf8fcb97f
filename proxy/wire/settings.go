package wire

// Settings are the parameters reported by the server that matter for reading a text. A value is
// immutable; the direction server -> client replaces it, the other reads it.
type Settings struct {
	Encoding      string // client_encoding
	server        string // server_encoding
	EscapeStrings bool   // standard_conforming_strings is off
}

// sqlASCII is the encoding that stands for none: where one side has it the server converts nothing.
const sqlASCII = "SQL_ASCII"

// TextEncoding is the encoding in which the server reads texts as they come, and counts the characters in
// them when it reports a place.
func (s *Settings) TextEncoding() string {
	if s.server == sqlASCII || s.Encoding == sqlASCII && s.server != "" {
		return s.server
	}
	return s.Encoding
}

// With returns s after a ParameterStatus with this body: s itself when it says nothing new.
func (s *Settings) With(body []byte) *Settings {
	name, rest, ok := CString(body)
	if !ok {
		return s
	}
	value, _, ok := CString(rest)
	if !ok {
		return s
	}
	next := *s
	switch string(name) {
	case "client_encoding":
		next.Encoding = string(value)
	case "server_encoding":
		next.server = string(value)
	case "standard_conforming_strings":
		next.EscapeStrings = string(value) == "off"
	default:
		return s
	}
	return &next
}
