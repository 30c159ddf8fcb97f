package scram

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
)

// SCRAM-SHA-256 as in RFC 5802 and RFC 7677, what both sides of it have in common.

const (
	// SHA256 is the name of the mechanism without channel binding.
	SHA256 = "SCRAM-SHA-256"
	// Plus is the name of the mechanism with channel binding.
	Plus = "SCRAM-SHA-256-PLUS"

	// KeySize is the size of all keys and signatures, in bytes.
	KeySize        = sha256.Size
	scramNonceSize = 18 // SCRAM_RAW_NONCE_LEN of Postgres, before base64
	// MaxMessage is PG_MAX_SASL_MESSAGE_LENGTH of Postgres, the limit for what a client says.
	MaxMessage = 1024
)

// Verifier is what a server keeps of a password: enough to check a proof, not to make one.
type Verifier struct {
	StoredKey, ServerKey [KeySize]byte
	// Nobody marks the verifier of a role that has none. All is computed with it as with others, and
	// no proof is good.
	Nobody bool
}

var errVerifier = errors.New("no SCRAM verifier")

// ParseVerifier reads rolpassword: SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>.
func ParseVerifier(s string) (Verifier, error) {
	none := Verifier{Nobody: true}
	rest, ok := strings.CutPrefix(s, SHA256+"$")
	if !ok {
		return none, errVerifier
	}
	salting, keys, ok := strings.Cut(rest, "$")
	if !ok {
		return none, errVerifier
	}
	count, salt, ok := strings.Cut(salting, ":")
	if !ok {
		return none, errVerifier
	}
	if n, err := strconv.ParseInt(count, 10, 32); err != nil || n <= 0 {
		return none, errVerifier
	}
	if _, err := base64.StdEncoding.DecodeString(salt); err != nil {
		return none, errVerifier
	}
	stored, server, ok := strings.Cut(keys, ":")
	if !ok {
		return none, errVerifier
	}
	var v Verifier
	if !decodeKey(&v.StoredKey, stored) || !decodeKey(&v.ServerKey, server) {
		return none, errVerifier
	}
	return v, nil
}

// decodeKey reads a key in base64.
func decodeKey(key *[KeySize]byte, s string) bool {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(b) != KeySize {
		return false
	}
	copy(key[:], b)
	return true
}

// clientKey recovers the ClientKey from a proof for authMessage and reports whether the proof is
// good. The key of a bad proof is worth nothing.
func (v *Verifier) clientKey(authMessage string, proof *[KeySize]byte) ([KeySize]byte, bool) {
	key := xor(proof, mac(&v.StoredKey, authMessage))
	stored := sha256.Sum256(key[:])
	good := subtle.ConstantTimeCompare(stored[:], v.StoredKey[:]) == 1
	return key, good && !v.Nobody
}

// mac is HMAC-SHA-256 of message.
func mac(key *[KeySize]byte, message string) *[KeySize]byte {
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte(message))
	return (*[KeySize]byte)(h.Sum(nil))
}

func xor(a, b *[KeySize]byte) (out [KeySize]byte) {
	subtle.XORBytes(out[:], a[:], b[:])
	return out
}

// newNonce makes printable randomness.
func newNonce() string {
	var raw [scramNonceSize]byte
	_, _ = rand.Read(raw[:]) // never fails: crypto/rand ends the program instead
	return base64.StdEncoding.EncodeToString(raw[:])
}

// bindingInput is the value of the attribute c for a GS2 header and the binding's data.
func bindingInput(header string, data []byte) string {
	return base64.StdEncoding.EncodeToString(append([]byte(header), data...))
}

// bindingHeader is the GS2 header of an exchange bound by tls-server-end-point.
const bindingHeader = "p=" + bindingType + ",,"

const bindingType = "tls-server-end-point"
