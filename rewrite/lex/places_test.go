package lex

import (
	"strings"
	"testing"
)

// TestPlaces: in whatever order one asks, the places of a text are those that Encoding counts.
func TestPlaces(t *testing.T) {
	for _, c := range []struct{ encoding, text string }{
		{"UTF8", ""},
		{"UTF8", strings.Repeat("x", 10_000)},
		{"UTF8", strings.Repeat("x☃é", 5_000)},
		{"UTF8", strings.Repeat("\xff☃", 5_000)},
		{"LATIN1", strings.Repeat("\xe9", 10_000)},
		{"SJIS", strings.Repeat("\x83\x5cx", 5_000) + "\x83"},
	} {
		enc := EncodingOf(c.encoding)
		p := NewPlaces(c.text, enc)
		for i := range 1_000 {
			off := i * 7919 % (len(c.text) + 3)
			if got, want := p.Characters(off), enc.CharPosition(c.text, off)-1; got != want {
				t.Fatalf("%s: %d of %.10q is character %d, want %d", c.encoding, off, c.text, got, want)
			}
		}
	}
}
