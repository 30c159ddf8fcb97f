package proxy

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
)

// scramLogin is an exchange in which the proxy is the client, bound to the server's certificate
// where that is possible. It needs no password but the key recovered from the client's proof.
type scramLogin struct {
	mechanism string
	header    string // gs2-header
	binding   []byte
	nonce     string
	first     string // client-first-message-bare

	// of the server-first-message
	challenge   string
	serverNonce string // with ours in front
	salt        string // base64
	iterations  int

	authMessage string // once proven
}

// newSCRAMLogin begins an exchange; binding is the server's end point if it offers -PLUS.
func newSCRAMLogin(binding []byte) *scramLogin {
	x := &scramLogin{mechanism: scramSHA256, header: "n,,", nonce: newNonce()}
	if binding != nil {
		x.mechanism, x.header, x.binding = scramPlus, bindingHeader, binding
	}
	x.first = "n=,r=" + x.nonce // the name counts only in the startup packet
	return x
}

var errSCRAMChallenge = errors.New("malformed server-first-message")

// challenged reads the server-first-message.
func (x *scramLogin) challenged(message []byte) error {
	x.challenge = string(message)
	r := attributes(message)
	var salt, count string
	for _, a := range []struct {
		name  byte
		value *string
	}{{'r', &x.serverNonce}, {'s', &salt}, {'i', &count}} {
		v, f := r.value(a.name) // 'm', an extension we had to know, is refused here
		if f != nil {
			return errSCRAMChallenge
		}
		*a.value = v
	}
	if len(x.serverNonce) <= len(x.nonce) || !strings.HasPrefix(x.serverNonce, x.nonce) {
		return errSCRAMChallenge
	}
	if _, err := base64.StdEncoding.DecodeString(salt); err != nil {
		return errSCRAMChallenge
	}
	n, err := strconv.ParseInt(count, 10, 32)
	if err != nil || n <= 0 {
		return errSCRAMChallenge
	}
	x.salt, x.iterations = salt, int(n)
	return nil
}

// prove returns the client-final-message for a ClientKey and the StoredKey that belongs to it.
func (x *scramLogin) prove(clientKey, storedKey *[scramKeySize]byte) string {
	unproven := "c=" + bindingInput(x.header, x.binding) + ",r=" + x.serverNonce
	x.authMessage = x.first + "," + x.challenge + "," + unproven
	proof := xor(clientKey, mac(storedKey, x.authMessage))
	return unproven + ",p=" + base64.StdEncoding.EncodeToString(proof[:])
}

// accepts reports whether the server-final-message proves that the server has the verifier.
func (x *scramLogin) accepts(message []byte, serverKey *[scramKeySize]byte) bool {
	r := attributes(message)
	v, f := r.value('v')
	var signature [scramKeySize]byte
	if f != nil || !decodeKey(&signature, v) {
		return false
	}
	return subtle.ConstantTimeCompare(signature[:], mac(serverKey, x.authMessage)[:]) == 1
}
