package scram

import (
	"encoding/base64"
	"strconv"

	"mbusproxy/proxy/fatal"
)

// Server is an exchange in which the proxy is the server.
type Server struct {
	client  clientFirst
	binding string // what the attribute c has to be
	nonce   string // the client's and ours
	first   string // server-first-message

	authMessage string
	proof       [KeySize]byte
}

// NewServer reads a client-first-message; endPoint is the binding of the client's connection for
// -PLUS, nil without.
func NewServer(message, endPoint []byte) (*Server, *fatal.Error) {
	first, f := parseClientFirst(message, endPoint != nil)
	if f != nil {
		return nil, f
	}
	x := &Server{client: first, nonce: first.nonce + newNonce()}
	if endPoint != nil {
		x.binding = bindingInput(bindingHeader, endPoint)
	} else {
		x.binding = bindingInput(string(first.flag)+",,", nil)
	}
	return x, nil
}

// Challenge returns the server-first-message; the salt is in base64.
func (x *Server) Challenge(salt string, iterations int) string {
	x.first = "r=" + x.nonce + ",s=" + salt + ",i=" + strconv.Itoa(iterations)
	return x.first
}

// Answered reads the client-final-message.
func (x *Server) Answered(message []byte) *fatal.Error {
	final, f := parseClientFinal(message, x.client.flag, x.binding)
	if f != nil {
		return f
	}
	if final.nonce != x.nonce {
		return fatal.SCRAMResponse("Nonce does not match.")
	}
	x.proof = final.proof
	x.authMessage = x.client.bare + "," + x.first + "," + final.unproven
	return nil
}

// Proves returns the ClientKey that the client's proof gives, and whether the proof is good for v.
// The key of a bad one is worth nothing.
func (x *Server) Proves(v *Verifier) (key [KeySize]byte, good bool) {
	return v.clientKey(x.authMessage, &x.proof)
}

// Signature returns the server-final-message.
func (x *Server) Signature(v *Verifier) string {
	return "v=" + base64.StdEncoding.EncodeToString(mac(&v.ServerKey, x.authMessage)[:])
}
