package lex

import (
	"strings"
	"unicode/utf8"
)

// Encoding is a client_encoding, as far as it matters for where characters begin and end.
type Encoding uint8

// Encodings. Those that are alike are one.
const (
	singleByte Encoding = iota
	UTF8
	doubleByte // a byte of 0x81 or more and the next one are a character
	shiftJIS
	euc // of Japan and Korea
	eucTaiwan
	gb18030
	mule
)

// EncodingOf returns the encoding with that name, in any case. An unknown one is taken for one of single bytes.
func EncodingOf(encoding string) Encoding {
	switch strings.ToUpper(encoding) {
	case "", "UTF8", "UNICODE":
		return UTF8
	case "BIG5", "GBK", "UHC", "EUC_CN":
		return doubleByte
	case "SJIS", "SHIFT_JIS_2004":
		return shiftJIS
	case "EUC_JP", "EUC_JIS_2004", "EUC_KR", "JOHAB":
		return euc
	case "EUC_TW":
		return eucTaiwan
	case "GB18030":
		return gb18030
	case "MULE_INTERNAL":
		return mule
	}
	return singleByte
}

// multiByte reports whether a character that is not ASCII may hold bytes that are.
func (k Encoding) multiByte() bool { return k != singleByte && k != UTF8 }

// CharLen returns the length in bytes of the character at the start of s.
func (k Encoding) CharLen(s string) int {
	if k == UTF8 {
		_, n := utf8.DecodeRuneInString(s)
		return n
	}
	return min(k.leadLen(s), len(s))
}

// Lead bytes of the EUC encodings that announce a character of another set.
const (
	singleShift2 = 0x8e
	singleShift3 = 0x8f
)

// leadLen returns the length that the lead byte of s announces, as the server's wchar.c has it.
func (k Encoding) leadLen(s string) int {
	lead := s[0]
	switch {
	case lead < 0x80 || k == singleByte:
		return 1
	case k == shiftJIS && lead >= 0xa1 && lead <= 0xdf: // half-width katakana
		return 1
	case k == eucTaiwan && lead == singleShift2:
		return 4
	case (k == euc || k == eucTaiwan) && lead == singleShift3:
		return 3
	case k == gb18030 && len(s) > 1 && s[1] >= '0' && s[1] <= '9':
		return 4
	case k == mule:
		switch {
		case lead >= 0x81 && lead <= 0x8d:
			return 2
		case lead >= 0x90 && lead <= 0x9b:
			return 3
		case lead == 0x9c || lead == 0x9d:
			return 4
		}
		return 1
	}
	return 2
}

// Parseable returns a text of the same length that the parser can read. The parser expects UTF-8,
// so in other encodings each byte of a character that is not ASCII becomes a letter. Such
// characters can stand only in strings, comments and names, where a letter reads the same.
func (k Encoding) Parseable(text string) string {
	if isASCII(text) || (k == UTF8 && utf8.ValidString(text)) {
		return text
	}
	b := []byte(text)
	for i := 0; i < len(b); {
		n := 1
		if k.multiByte() {
			n = k.CharLen(text[i:])
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

// ByteOffset returns the byte offset of a position as Postgres reports it, which counts characters from 1.
func (k Encoding) ByteOffset(text string, char int) int {
	off := 0
	for n := 1; n < char && off < len(text); n++ {
		off += k.CharLen(text[off:])
	}
	return off
}

// CharPosition is the inverse of ByteOffset.
func (k Encoding) CharPosition(text string, off int) int {
	char := 1
	for i := 0; i < off && i < len(text); char++ {
		i += k.CharLen(text[i:])
	}
	return char
}

// Translated reports whether the bytes of a text are the same for the proxy and for the server,
// after the server has converted it: it is ASCII, or encoding is UTF8 or, where the server converts
// nothing, SQL_ASCII.
func Translated(text, encoding string) bool {
	return EncodingOf(encoding) == UTF8 || encoding == "SQL_ASCII" || !strings.ContainsFunc(text, func(c rune) bool { return c >= 0x80 })
}
