package scram

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
)

// Client is an exchange in which the proxy is the client, bound to the server's certificate
// where that is possible. It needs no password but the key recovered from the client's proof.
type Client struct {
	Mechanism string
	Header    string // gs2-header
	binding   []byte
	nonce     string
	First     string // client-first-message-bare

	// of the server-first-message
	challenge   string
	ServerNonce string // with ours in front
	Salt        string // base64
	Iterations  int

	authMessage string // once proven
}

// NewClient begins an exchange; binding is the server's end point if it offers -PLUS.
func NewClient(binding []byte) *Client {
	x := &Client{Mechanism: SHA256, Header: "n,,", nonce: newNonce()}
	if binding != nil {
		x.Mechanism, x.Header, x.binding = Plus, bindingHeader, binding
	}
	x.First = "n=,r=" + x.nonce // the name counts only in the startup packet
	return x
}

var errSCRAMChallenge = errors.New("malformed server-first-message")

// Challenged reads the server-first-message.
func (x *Client) Challenged(message []byte) error {
	x.challenge = string(message)
	r := attributes(message)
	var salt, count string
	for _, a := range []struct {
		name  byte
		value *string
	}{{'r', &x.ServerNonce}, {'s', &salt}, {'i', &count}} {
		v, f := r.value(a.name) // 'm', an extension we had to know, is refused here
		if f != nil {
			return errSCRAMChallenge
		}
		*a.value = v
	}
	if len(x.ServerNonce) <= len(x.nonce) || !strings.HasPrefix(x.ServerNonce, x.nonce) {
		return errSCRAMChallenge
	}
	if _, err := base64.StdEncoding.DecodeString(salt); err != nil {
		return errSCRAMChallenge
	}
	n, err := strconv.ParseInt(count, 10, 32)
	if err != nil || n <= 0 {
		return errSCRAMChallenge
	}
	x.Salt, x.Iterations = salt, int(n)
	return nil
}

// Prove returns the client-final-message for a ClientKey and the StoredKey that belongs to it.
func (x *Client) Prove(clientKey, storedKey *[KeySize]byte) string {
	unproven := "c=" + bindingInput(x.Header, x.binding) + ",r=" + x.ServerNonce
	x.authMessage = x.First + "," + x.challenge + "," + unproven
	proof := xor(clientKey, mac(storedKey, x.authMessage))
	return unproven + ",p=" + base64.StdEncoding.EncodeToString(proof[:])
}

// Accepts reports whether the server-final-message proves that the server has the verifier.
func (x *Client) Accepts(message []byte, serverKey *[KeySize]byte) bool {
	r := attributes(message)
	v, f := r.value('v')
	var signature [KeySize]byte
	if f != nil || !decodeKey(&signature, v) {
		return false
	}
	return subtle.ConstantTimeCompare(signature[:], mac(serverKey, x.authMessage)[:]) == 1
}
