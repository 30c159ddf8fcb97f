package proxy

// settings are the parameters reported by the server that matter for reading a text. A value is
// immutable; the direction server -> client replaces it, the other reads it.
type settings struct {
	encoding      string // client_encoding
	server        string // server_encoding
	escapeStrings bool   // standard_conforming_strings is off
}

// sqlASCII is the encoding that stands for none: where one side has it the server converts nothing.
const sqlASCII = "SQL_ASCII"

// textEncoding is the encoding in which the server reads texts as they come, and counts the characters in
// them when it reports a place.
func (s *settings) textEncoding() string {
	if s.server == sqlASCII || s.encoding == sqlASCII && s.server != "" {
		return s.server
	}
	return s.encoding
}

// with returns s after a ParameterStatus with this body: s itself when it says nothing new.
func (s *settings) with(body []byte) *settings {
	name, rest, ok := cstring(body)
	if !ok {
		return s
	}
	value, _, ok := cstring(rest)
	if !ok {
		return s
	}
	next := *s
	switch string(name) {
	case "client_encoding":
		next.encoding = string(value)
	case "server_encoding":
		next.server = string(value)
	case "standard_conforming_strings":
		next.escapeStrings = string(value) == "off"
	default:
		return s
	}
	return &next
}
