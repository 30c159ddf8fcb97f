package rewrite

import (
	"strings"
	"unicode/utf8"
)

// encodingKind is what must be known of a client_encoding to read a text byte by byte.
type encodingKind uint8

const (
	singleByte encodingKind = iota
	utf8Encoding
	doubleByte // a lead byte of 0x81 or more takes the next byte along
)

func kindOf(encoding string) encodingKind {
	switch strings.ToUpper(encoding) {
	case "", "UTF8", "UNICODE":
		return utf8Encoding
	case "SJIS", "SHIFT_JIS_2004", "BIG5", "GBK", "UHC", "GB18030", "JOHAB",
		"EUC_JP", "EUC_CN", "EUC_KR", "EUC_TW", "EUC_JIS_2004":
		return doubleByte
	}
	return singleByte
}

// charLen returns the length in bytes of the character at the start of s. For the double-byte
// encodings it is exact for all characters but the rare four-byte ones of GB18030 and EUC_TW,
// which count as two.
func (k encodingKind) charLen(s string) int {
	switch k {
	case utf8Encoding:
		_, n := utf8.DecodeRuneInString(s)
		return n
	case doubleByte:
		if s[0] >= 0x81 && s[0] != 0xff && len(s) > 1 {
			return 2
		}
	}
	return 1
}

// parseable returns a text of the same length that the parser can read: it expects UTF-8, so in
// other encodings the bytes of non-ASCII characters become letters. They can stand only in
// strings, quoted identifiers, comments and names, where a letter reads the same.
func (k encodingKind) parseable(text string) string {
	if isASCII(text) || (k == utf8Encoding && utf8.ValidString(text)) {
		return text
	}
	b := []byte(text)
	for i := 0; i < len(b); {
		n := 1
		if k == doubleByte {
			n = k.charLen(text[i:])
		}
		for j := i; j < i+n; j++ {
			if n > 1 || b[j] >= utf8.RuneSelf {
				b[j] = 'z'
			}
		}
		i += n
	}
	return string(b)
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// byteOffset turns a 1-based character position, as Postgres reports it, into a byte offset.
func (k encodingKind) byteOffset(text string, char int) int {
	off := 0
	for n := 1; n < char && off < len(text); n++ {
		off += k.charLen(text[off:])
	}
	return off
}

// charPosition is the inverse of byteOffset.
func (k encodingKind) charPosition(text string, off int) int {
	char := 1
	for i := 0; i < off && i < len(text); char++ {
		i += k.charLen(text[i:])
	}
	return char
}
