package proxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Startup packets have no type byte: a length, a version or request code, a body.
const (
	// maxStartupPacket is MAX_STARTUP_PACKET_LENGTH of Postgres.
	maxStartupPacket = 10000
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
		return nil, sayBadStartup("invalid length")
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

// parseParameters reads names and values of a StartupMessage of protocol 3.
func parseParameters(p startupPacket) (parameters, error) {
	var out parameters
	body := p[8:]
	if len(body) == 0 || body[len(body)-1] != 0 {
		return out, sayBadStartup("expected terminator as last byte")
	}
	for {
		name, rest, ok := bytes.Cut(body, []byte{0})
		if !ok {
			return out, sayBadStartup("expected terminator as last byte")
		}
		if len(name) == 0 {
			if len(rest) > 0 {
				return out, sayBadStartup("expected terminator as last byte")
			}
			break
		}
		value, rest, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			return out, sayBadStartup("missing value of a parameter")
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
	if out.database == "" {
		out.database = out.user
	}
	return out, nil
}

// replicates reads the value of the parameter replication: "database" or a boolean in any of
// Postgres's spellings. What is none of them is refused by the server.
func replicates(value string) bool {
	if value == "database" {
		return true
	}
	switch v := asciiLower(value); v {
	case "":
		return false
	case "1", "on":
		return true
	default: // prefixes of true and yes are true
		return len(v) <= 4 && "true"[:len(v)] == v || len(v) <= 3 && "yes"[:len(v)] == v
	}
}
