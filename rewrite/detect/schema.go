package detect

import (
	"bytes"

	"mbusproxy/sqlfuncs"
)

// Mentions reports whether a text holds the schema's name in any case. Every statement of every
// session goes through this test, so it looks for the rarest character first.
func Mentions(text []byte) bool {
	const name = sqlfuncs.Schema // "mbus4"
	const last = '4'             // its last character
	for i := 0; ; {
		j := bytes.IndexByte(text[i:], last)
		if j < 0 {
			return false
		}
		i += j + 1
		if i >= len(name) && bytes.EqualFold(text[i-len(name):i], []byte(name)) {
			return true
		}
	}
}
