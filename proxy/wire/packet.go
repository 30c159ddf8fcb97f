package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Startup packets have no type byte: a length, a version or request code, a body.
const (
	// MaxStartupPacket is MAX_STARTUP_PACKET_LENGTH of Postgres, which does not count the length itself.
	MaxStartupPacket = 10000 + 4
	minStartupPacket = 8

	CodeCancel = 1234<<16 | 5678
	CodeSSL    = 1234<<16 | 5679
	CodeGSS    = 1234<<16 | 5680

	ProtocolMajor = 3

	// tlsHandshake is the first byte of a TLS ClientHello record; no startup packet begins with
	// it, for that would make it 368 MB long.
	tlsHandshake = 0x16

	// A CancelRequest carries a process ID of 4 bytes and a key. Protocol 3.2 allows keys of 4 to
	// 256 bytes.
	MinCancel = 8 + 4 + 4
	MaxCancel = 8 + 4 + 256
)

// StartupPacket is a whole packet with its length, as it came.
type StartupPacket []byte

// Code is the version or the code of a request.
func (p StartupPacket) Code() uint32 { return binary.BigEndian.Uint32(p[4:8]) }

// ErrDirectTLS is returned by ReadStartupPacket when a TLS handshake begins; the packet holds the
// bytes read of it.
var ErrDirectTLS = errors.New("TLS handshake instead of a startup packet")

// ReadStartupPacket reads exactly one packet and not a byte more.
func ReadStartupPacket(r io.Reader) (StartupPacket, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:1]); err != nil {
		return nil, fmt.Errorf("reading startup packet: %w", err)
	}
	if head[0] == tlsHandshake {
		return head[:1], ErrDirectTLS
	}
	if _, err := io.ReadFull(r, head[1:]); err != nil {
		return nil, fmt.Errorf("reading startup packet: %w", err)
	}
	size := binary.BigEndian.Uint32(head[:])
	if size < minStartupPacket || size > MaxStartupPacket {
		return nil, ErrNotSpoken // the server closes without a word, too
	}
	p := make(StartupPacket, size)
	copy(p, head[:])
	if _, err := io.ReadFull(r, p[4:]); err != nil {
		return nil, fmt.Errorf("reading startup packet: %w", err)
	}
	return p, nil
}

// parameters are what the proxy reads of a StartupMessage; the packet itself is forwarded.
type parameters struct {
	User, Database string
	Replication    bool
}

// UnknownRequest takes the place of a request's code where the server is asked what it says to such a code.
const UnknownRequest = 1234<<16 | 5677

// Asked returns the packet that the server gets. A request that came where none may come is an
// unknown protocol to the server; but as the first packet it would be a request to it, so it gets
// another number as long as that one. The second result is the code to put in its place in the
// answer; 0: none.
func (p StartupPacket) Asked() (StartupPacket, uint32) {
	code := p.Code()
	if code != CodeSSL && code != CodeGSS {
		return p, 0
	}
	out := bytes.Clone(p)
	binary.BigEndian.PutUint32(out[4:8], UnknownRequest)
	return out, code
}

// ParseParameters reads names and values of a StartupMessage of protocol 3. It returns false for all packets that the
// server must refuse to take for one: those are forwarded for the server's words.
func ParseParameters(p StartupPacket) (parameters, bool) {
	var out parameters
	if p.Code()>>16 != ProtocolMajor {
		return out, false
	}
	for body := p[8:]; ; {
		name, rest, ok := bytes.Cut(body, []byte{0})
		if !ok {
			return out, false
		}
		if len(name) == 0 {
			if out.Database == "" {
				out.Database = out.User
			}
			return out, len(rest) == 0
		}
		value, rest, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			return out, false
		}
		switch string(name) {
		case "user":
			out.User = string(value)
		case "database":
			out.Database = string(value)
		case "replication":
			out.Replication = replicates(string(value))
		}
		body = rest
	}
}

// replicates reads the value of the parameter replication: "database" or a boolean in any of
// Postgres's spellings. What is none of them is refused by the server.
func replicates(value string) bool {
	if value == "database" {
		return true
	}
	switch v := strings.ToLower(value); v {
	case "":
		return false
	case "1", "on":
		return true
	default: // prefixes of true and yes are true
		return len(v) <= 4 && "true"[:len(v)] == v || len(v) <= 3 && "yes"[:len(v)] == v
	}
}

// ErrNotSpoken ends a connection that began with something else than the protocol; there is no
// message the peer would understand.
var ErrNotSpoken = errors.New("peer does not speak the protocol")

// CancelKey is the body of a BackendKeyData or of a CancelRequest: process ID and key.
type CancelKey string

// Request makes the CancelRequest.
func (k CancelKey) Request() StartupPacket {
	p := binary.BigEndian.AppendUint32(nil, uint32(8+len(k)))
	p = binary.BigEndian.AppendUint32(p, CodeCancel)
	return append(p, k...)
}

// WithDatabase returns the packet of a StartupMessage, for which ParseParameters has returned true,
// with another database.
func (p StartupPacket) WithDatabase(name string) StartupPacket {
	out := append(StartupPacket(nil), p[:8]...)
	for body := []byte(p[8:]); ; {
		key, rest, _ := bytes.Cut(body, []byte{0})
		if len(key) == 0 {
			break
		}
		value, rest, _ := bytes.Cut(rest, []byte{0})
		if string(key) != "database" {
			out = append(append(append(append(out, key...), 0), value...), 0)
		}
		body = rest
	}
	out = append(append(append(out, "database\x00"...), name...), 0, 0)
	binary.BigEndian.PutUint32(out, uint32(len(out)))
	return out
}
