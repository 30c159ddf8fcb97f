package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"
)

// secretBytes is the length of what nobody can guess.
const secretBytes = 32

// newSecret is a random text for a cookie or a form: 256 bits.
func newSecret() string {
	var b [secretBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// signer signs texts with a key of its own.
type signer struct{ key [secretBytes]byte }

func newSigner() *signer {
	s := new(signer)
	_, _ = rand.Read(s.key[:])
	return s
}

// seal is the signature of a text that is used for a purpose.
func (s *signer) seal(purpose, text string) string {
	m := hmac.New(sha256.New, s.key[:])
	m.Write([]byte(purpose))
	m.Write([]byte{0})
	m.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// sign is the text with its signature.
func (s *signer) sign(purpose, text string) string { return text + "." + s.seal(purpose, text) }

// open gives the text of what sign made, and whether it did.
func (s *signer) open(purpose, signed string) (text string, ok bool) {
	text, seal, found := strings.Cut(signed, ".")
	if !found || !same(seal, s.seal(purpose, text)) {
		return "", false
	}
	return text, true
}

// same compares in a time that tells nothing of where two texts differ.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
