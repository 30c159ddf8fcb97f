package wire

import "testing"

func TestSettings(t *testing.T) {
	s := &Settings{Encoding: "UTF8"}
	for _, step := range []struct{ name, value string }{
		{"client_encoding", "LATIN1"}, {"TimeZone", "UTC"}, {"standard_conforming_strings", "off"},
	} {
		s = s.With([]byte(step.name + "\x00" + step.value + "\x00"))
	}
	for _, c := range [][3]string{
		{"UTF8", "UTF8", "UTF8"}, {"LATIN1", "UTF8", "LATIN1"}, {"SQL_ASCII", "UTF8", "UTF8"}, {"UTF8", "SQL_ASCII", "SQL_ASCII"}, {"SQL_ASCII", "", "SQL_ASCII"},
	} {
		if got := (&Settings{Encoding: c[0], server: c[1]}).TextEncoding(); got != c[2] {
			t.Errorf("client %s, server %s: %s", c[0], c[1], got)
		}
	}
	if *s != (Settings{Encoding: "LATIN1", EscapeStrings: true}) {
		t.Errorf("got %+v", *s)
	}
	if got := s.With([]byte("client_encoding")); got != s {
		t.Errorf("a broken report changes %+v", *got)
	}
}
