package lex

import (
	"testing"
)

func TestDecodeLiteral(t *testing.T) {
	for _, c := range []struct {
		text, encoding string
		escapes        bool
		want           string
	}{
		{text: `12`, want: `12`},
		{text: `''`, want: ``},
		{text: "'a' -- it's\n'b'", want: `ab`},
		{text: "E'a' --\n--\n '\\'b'", want: `a'b`},
		{text: `'a''b\n'`, want: `a'b\n`},
		{text: `'a''b\n\''`, escapes: true, want: "a'b\n'"},
		{text: "'a'\n  'b' \r\n'''c'", want: `ab'c`},
		{text: "e'a\\t'\n'\\n'", want: "a\t\n"},
		{text: `E'\b\f\n\r\t\v\q\\\''`, want: "\b\f\n\r\t\vq\\'"},
		{text: `E'\101\x42\x4g\u0441\U0001F600\ud83d\ude00'`, want: "AB\x04gс😀😀"},
		{text: `E'\xd1\x81\321\201'`, want: "сс"},
		{text: `$$a'b\n$$`, want: `a'b\n`},
		{text: `$x$a$$b$x$`, want: `a$$b`},
		{text: `$$$$`, want: ``},
		{text: `U&'\0061\+000062\\''\D83D\DE00'`, want: `ab\'😀`},
		{text: "u&'!0061'\n'!!\\' /* it's */ UESCAPE '!'", want: `a!\`},
		{text: "'\x95\x5c'", encoding: "SJIS", want: "\x95\x5c"},
		{text: "E'\x95\x5cn\\n'", encoding: "SJIS", want: "\x95\x5cn\n"},
		{text: "'\x95\x5c\\\x95\x5c'", encoding: "SJIS", escapes: true, want: "\x95\x5c\x95\x5c"},
		{text: "'caf\xe9'", encoding: "LATIN1", want: "caf\xe9"},
		{text: `E'\u0041\x42'`, encoding: "LATIN1", want: "AB"},
	} {
		got, ok := DecodeLiteral(c.text, EncodingOf(c.encoding), c.escapes)
		if !ok || got != c.want {
			t.Errorf("%q (%s, escapes %v) gives %q %v, want %q", c.text, c.encoding, c.escapes, got, ok, c.want)
		}
	}
	for _, c := range []struct {
		text, encoding string
		escapes        bool
	}{
		{text: `E'\u12'`},
		{text: `E'\ud83d'`},
		{text: `E'\ud83dx'`},
		{text: `E'\ude00'`},
		{text: `E'\000'`},
		{text: `E'\x80'`},
		{text: `E'\U00110000'`},
		{text: `U&'\00'`},
		{text: `U&'\D83D\\'`},
		{text: `U&'a'`, escapes: true},
		{text: `E'\u00e9'`, encoding: "LATIN1"},
		{text: `E'\xe9'`, encoding: "LATIN1"},
		{text: `U&'\00e9'`, encoding: "SJIS"},
		{text: "'caf\xe9'"},
		{text: `x'00'`},
	} {
		if got, ok := DecodeLiteral(c.text, EncodingOf(c.encoding), c.escapes); ok {
			t.Errorf("%q (%s, escapes %v) gives %q", c.text, c.encoding, c.escapes, got)
		}
	}
}
