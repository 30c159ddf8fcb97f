package scram

import (
	"fmt"
	"strings"

	"mbusproxy/proxy/fatal"
)

// Reading a client's SCRAM messages, with the leniency and in the words of auth-scram.c in Postgres.

// clientFirst is a client-first-message.
type clientFirst struct {
	flag  byte   // 'n', 'y' or 'p'
	bare  string // client-first-message-bare
	nonce string
}

// clientFinal is a client-final-message.
type clientFinal struct {
	unproven string // client-final-message-without-proof
	nonce    string
	proof    [KeySize]byte
}

// checkText refuses what cannot be a text.
func checkText(message []byte) *fatal.Error {
	switch {
	case len(message) == 0:
		return fatal.MalformedSCRAM("The message is empty.")
	case strings.IndexByte(string(message), 0) >= 0:
		return fatal.MalformedSCRAM("Message length does not match input length.")
	}
	return nil
}

// parseClientFirst reads the first message of an exchange with channel binding (plus) or without.
func parseClientFirst(message []byte, plus bool) (clientFirst, *fatal.Error) {
	var m clientFirst
	if f := checkText(message); f != nil {
		return m, f
	}
	r := attributes(message)
	m.flag = message[0]
	switch m.flag {
	case 'n', 'y':
		if plus {
			return m, fatal.MalformedSCRAM("The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not include channel binding data.")
		}
		r = r[1:]
		if r.peek() != ',' {
			return m, fatal.MalformedSCRAM(fmt.Sprintf("Comma expected, but found character \"%s\".", r.shown()))
		}
		r = r[1:]
	case 'p':
		if !plus {
			return m, fatal.MalformedSCRAM("The client selected SCRAM-SHA-256 without channel binding, but the SCRAM message includes channel binding data.")
		}
		name, f := r.value('p')
		if f != nil {
			return m, f
		}
		if name != bindingType {
			return m, fatal.SCRAMBindingType(shownText(name))
		}
	default:
		return m, fatal.MalformedSCRAM(fmt.Sprintf("Unexpected channel-binding flag \"%s\".", r.shown()))
	}
	if r.peek() == 'a' {
		return m, fatal.SCRAMUnsupported("client uses authorization identity, but it is not supported")
	}
	if r.peek() != ',' {
		return m, fatal.MalformedSCRAM(fmt.Sprintf("Unexpected attribute \"%s\" in client-first-message.", r.shown()))
	}
	r = r[1:]
	m.bare = string(r)
	if r.peek() == 'm' {
		return m, fatal.SCRAMUnsupported("client requires an unsupported SCRAM extension")
	}
	if _, f := r.value('n'); f != nil { // the user's name counts only in the startup packet
		return m, f
	}
	var f *fatal.Error
	if m.nonce, f = r.value('r'); f != nil {
		return m, f
	}
	for _, c := range []byte(m.nonce) {
		if c < 0x21 || c > 0x7e {
			return m, fatal.SCRAMNonce()
		}
	}
	for len(r) > 0 { // optional extensions
		if _, _, f := r.any(); f != nil {
			return m, f
		}
	}
	return m, nil
}

// parseClientFinal reads the second message. The attribute c has to be binding.
func parseClientFinal(message []byte, flag byte, binding string) (clientFinal, *fatal.Error) {
	var m clientFinal
	if f := checkText(message); f != nil {
		return m, f
	}
	r := attributes(message)
	c, f := r.value('c')
	if f != nil {
		return m, f
	}
	if c != binding {
		if flag == 'p' {
			return m, fatal.SCRAMBindingCheck()
		}
		return m, fatal.SCRAMBindingAttribute()
	}
	if m.nonce, f = r.value('r'); f != nil {
		return m, f
	}
	for {
		// The comma before the attribute is there unless the text has ended.
		m.unproven = strings.TrimSuffix(string(message[:len(message)-len(r)]), ",")
		name, value, f := r.any()
		if f != nil {
			return m, f
		}
		if name != 'p' {
			continue
		}
		if !decodeKey(&m.proof, value) {
			return m, fatal.MalformedSCRAM("Malformed proof in client-final-message.")
		}
		if len(r) > 0 {
			return m, fatal.MalformedSCRAM("Garbage found at the end of client-final-message.")
		}
		return m, nil
	}
}

// attributes is what is left to read of a message: "x=value" with commas between.
type attributes string

// peek returns the next byte, 0 at the end.
func (r attributes) peek() byte {
	if r == "" {
		return 0
	}
	return r[0]
}

// value reads an attribute that has to be the one named.
func (r *attributes) value(name byte) (string, *fatal.Error) {
	if r.peek() != name {
		return "", fatal.MalformedSCRAM(fmt.Sprintf("Expected attribute \"%c\" but found \"%s\".", name, r.shown()))
	}
	return r.behindName(name)
}

// any reads an attribute of any name.
func (r *attributes) any() (byte, string, *fatal.Error) {
	name := r.peek()
	switch {
	case name == 0:
		return 0, "", fatal.MalformedSCRAM("Attribute expected, but found end of string.")
	case name|0x20 < 'a' || name|0x20 > 'z':
		return 0, "", fatal.MalformedSCRAM(fmt.Sprintf("Attribute expected, but found invalid character \"%s\".", r.shown()))
	}
	value, f := r.behindName(name)
	return name, value, f
}

func (r *attributes) behindName(name byte) (string, *fatal.Error) {
	rest := (*r)[1:]
	if rest.peek() != '=' {
		return "", fatal.MalformedSCRAM(fmt.Sprintf("Expected character \"=\" for attribute \"%c\".", name))
	}
	value, rest2, _ := strings.Cut(string(rest[1:]), ",")
	*r = attributes(rest2)
	return value, nil
}

// shown is the next byte as reports show it.
func (r attributes) shown() string {
	if c := r.peek(); c < 0x21 || c > 0x7e {
		return fmt.Sprintf("0x%02x", c)
	}
	return fmt.Sprintf("'%c'", r[0])
}

// shownText is a text as reports show it: 30 characters at most, and printable ones.
func shownText(s string) string {
	out := []byte(s[:min(len(s), 30)])
	for i, c := range out {
		if c < 0x21 || c > 0x7e {
			out[i] = '?'
		}
	}
	return string(out)
}
