package proxy

import (
	"encoding/base64"
	"strconv"
)

// scramEnd is an exchange in which the proxy is the server.
type scramEnd struct {
	client  clientFirst
	binding string // what the attribute c has to be
	nonce   string // the client's and ours
	first   string // server-first-message

	authMessage string
	proof       [scramKeySize]byte
}

// newSCRAMEnd reads a client-first-message; endPoint is the binding of the client's connection for
// -PLUS, nil without.
func newSCRAMEnd(message, endPoint []byte) (*scramEnd, *fatal) {
	first, f := parseClientFirst(message, endPoint != nil)
	if f != nil {
		return nil, f
	}
	x := &scramEnd{client: first, nonce: first.nonce + newNonce()}
	if endPoint != nil {
		x.binding = bindingInput(bindingHeader, endPoint)
	} else {
		x.binding = bindingInput(string(first.flag)+",,", nil)
	}
	return x, nil
}

// challenge returns the server-first-message; the salt is in base64.
func (x *scramEnd) challenge(salt string, iterations int) string {
	x.first = "r=" + x.nonce + ",s=" + salt + ",i=" + strconv.Itoa(iterations)
	return x.first
}

// answered reads the client-final-message.
func (x *scramEnd) answered(message []byte) *fatal {
	final, f := parseClientFinal(message, x.client.flag, x.binding)
	if f != nil {
		return f
	}
	if final.nonce != x.nonce {
		return saySCRAMResponse("Nonce does not match.")
	}
	x.proof = final.proof
	x.authMessage = x.client.bare + "," + x.first + "," + final.unproven
	return nil
}

// proves returns the ClientKey that the client's proof gives, and whether the proof is good for v. The key of a bad one is worth nothing.
func (x *scramEnd) proves(v *verifier) (key [scramKeySize]byte, good bool) {
	return v.clientKey(x.authMessage, &x.proof)
}

// signature returns the server-final-message.
func (x *scramEnd) signature(v *verifier) string {
	return "v=" + base64.StdEncoding.EncodeToString(mac(&v.serverKey, x.authMessage)[:])
}
