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
	shiftJIS
	euc // of Japan and Korea
	eucTaiwan
	gb18030
	mule
)

func kindOf(encoding string) encodingKind {
	switch strings.ToUpper(encoding) {
	case "", "UTF8", "UNICODE":
		return utf8Encoding
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

// multiByte reports whether characters may hold bytes that are no letters for the parser.
func (k encodingKind) multiByte() bool { return k != singleByte && k != utf8Encoding }

// charLen returns the length in bytes of the character at the start of s.
func (k encodingKind) charLen(s string) int {
	if k == utf8Encoding {
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
func (k encodingKind) leadLen(s string) int {
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
		if k.multiByte() {
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
