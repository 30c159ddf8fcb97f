package proxy

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
	// maxStartupPacket is MAX_STARTUP_PACKET_LENGTH of Postgres, which does not count the length itself.
	maxStartupPacket = 10000 + 4
	minStartupPacket = 8

	codeCancel = 1234<<16 | 5678
	codeSSL    = 1234<<16 | 5679
	codeGSS    = 1234<<16 | 5680

	protocolMajor = 3

	// tlsHandshake is the first byte of a TLS ClientHello record; no startup packet begins with
	// it, for that would make it 368 MB long.
	tlsHandshake = 0x16

	// A CancelRequest carries a process ID of 4 bytes and a key. Protocol 3.2 allows keys of 4 to
	// 256 bytes.
	minCancel = 8 + 4 + 4
	maxCancel = 8 + 4 + 256
)

// startupPacket is a whole packet with its length, as it came.
type startupPacket []byte

func (p startupPacket) code() uint32 { return binary.BigEndian.Uint32(p[4:8]) }

// errDirectTLS is returned by readStartupPacket when a TLS handshake begins; the packet holds the
// bytes read of it.
var errDirectTLS = errors.New("TLS handshake instead of a startup packet")

// readStartupPacket reads exactly one packet and not a byte more.
func readStartupPacket(r io.Reader) (startupPacket, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:1]); err != nil {
		return nil, fmt.Errorf("reading startup packet: %w", err)
	}
	if head[0] == tlsHandshake {
		return head[:1], errDirectTLS
	}
	if _, err := io.ReadFull(r, head[1:]); err != nil {
		return nil, fmt.Errorf("reading startup packet: %w", err)
	}
	size := binary.BigEndian.Uint32(head[:])
	if size < minStartupPacket || size > maxStartupPacket {
		return nil, errNotSpoken // the server closes without a word, too
	}
	p := make(startupPacket, size)
	copy(p, head[:])
	if _, err := io.ReadFull(r, p[4:]); err != nil {
		return nil, fmt.Errorf("reading startup packet: %w", err)
	}
	return p, nil
}

// parameters are what the proxy reads of a StartupMessage; the packet itself is forwarded.
type parameters struct {
	user, database string
	replication    bool
}

// unknownRequest takes the place of a request's code where the server is asked what it says to such a code.
const unknownRequest = 1234<<16 | 5677

// asked returns the packet that the server gets. A request that came where none may come is an unknown protocol to the
// server; but as the first packet it would be a request to it, so it gets another number as long as that one. The second
// result is the code to put in its place in the answer; 0: none.
func (p startupPacket) asked() (startupPacket, uint32) {
	code := p.code()
	if code != codeSSL && code != codeGSS {
		return p, 0
	}
	out := bytes.Clone(p)
	binary.BigEndian.PutUint32(out[4:8], unknownRequest)
	return out, code
}

// parseParameters reads names and values of a StartupMessage of protocol 3. It returns false for all packets that the
// server must refuse to take for one: those are forwarded for the server's words.
func parseParameters(p startupPacket) (parameters, bool) {
	var out parameters
	if p.code()>>16 != protocolMajor {
		return out, false
	}
	for body := p[8:]; ; {
		name, rest, ok := bytes.Cut(body, []byte{0})
		if !ok {
			return out, false
		}
		if len(name) == 0 {
			if out.database == "" {
				out.database = out.user
			}
			return out, len(rest) == 0
		}
		value, rest, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			return out, false
		}
		switch string(name) {
		case "user":
			out.user = string(value)
		case "database":
			out.database = string(value)
		case "replication":
			out.replication = replicates(string(value))
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

// errNotSpoken ends a connection that began with something else than the protocol; there is no
// message the peer would understand.
var errNotSpoken = errors.New("peer does not speak the protocol")

// cancelKey is the body of a BackendKeyData or of a CancelRequest: process ID and key.
type cancelKey string

// request makes the CancelRequest.
func (k cancelKey) request() startupPacket {
	p := binary.BigEndian.AppendUint32(nil, uint32(8+len(k)))
	p = binary.BigEndian.AppendUint32(p, codeCancel)
	return append(p, k...)
}
