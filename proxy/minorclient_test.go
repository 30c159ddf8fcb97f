package proxy

import (
	"bytes"
	"crypto/md5"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/scram"
	"mbusproxy/proxy/wire"
)

// byteClient takes part in a startup byte by byte: what it shows of the server's messages is all there
// is of them, except what is another each time. pgproto3 would read some of them its own way.
type byteClient struct {
	*wireClient
	user, password string
	binding        []byte         // of its TLS connection
	plus           bool           // bind SCRAM to it
	trace          []string       // the server's messages
	key            wire.CancelKey // once known
}

// dialBytes connects, with TLS after an SSLRequest if secure.
func dialBytes(t testing.TB, addr string, secure bool) *byteClient {
	t.Helper()
	c := &byteClient{wireClient: dialWire(t, addr)}
	if !secure {
		return c
	}
	c.write([]byte(sslRequest))
	var answer [1]byte
	if _, err := c.conn.Read(answer[:]); err != nil || answer[0] != 'S' {
		t.Fatalf("answer %q, %v", answer, err)
	}
	conn := tls.Client(c.conn, shared.clientTLS())
	c.over(conn)
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	c.binding = endpoint.CertificateBinding(conn.ConnectionState().PeerCertificates[0].Raw)
	return c
}

// message reads the server's next message; at the end of the stream its type is 0.
func (c *byteClient) message() (typ byte, body []byte) {
	c.t.Helper()
	c.extend()
	var head [wire.HeaderSize]byte
	if _, err := io.ReadFull(c.conn, head[:]); err == io.EOF {
		return 0, nil
	} else if err != nil {
		c.t.Fatalf("reading a message: %v\nuntil then:\n%s", err, strings.Join(c.trace, "\n"))
	}
	size, ok := wire.FrameLen(head[:])
	if !ok {
		c.t.Fatalf("header % x", head)
	}
	body = make([]byte, size-wire.HeaderSize)
	if _, err := io.ReadFull(c.conn, body); err != nil {
		c.t.Fatalf("reading a message of type %c: %v", head[0], err)
	}
	return head[0], body
}

// login sends a startup packet with the session's own parameters behind the given ones and goes on to
// ReadyForQuery, or to the end of the stream.
func (c *byteClient) login(version uint32, parameters string) {
	c.t.Helper()
	c.write(packet(version, parameters+"user\x00"+c.user+"\x00database\x00postgres\x00\x00"))
	var exchange *scram.Client
	for {
		typ, body := c.message()
		shown := slices.Clone(body)
		var answer []byte
		switch typ {
		case 0:
			c.trace = append(c.trace, "closed")
			return
		case wire.MsgBackendKeyData:
			c.key = wire.CancelKey(body)
			clear(shown)
		case wire.MsgAuthentication:
			switch binary.BigEndian.Uint32(body) {
			case wire.AuthCleartextPassword:
				answer = []byte(c.password + "\x00")
			case wire.AuthMD5Password:
				inner := md5.Sum([]byte(c.password + c.user))
				outer := md5.Sum(append([]byte(hex.EncodeToString(inner[:])), body[4:]...))
				answer = []byte("md5" + hex.EncodeToString(outer[:]) + "\x00")
				clear(shown[4:])
			case wire.AuthSASL:
				if !c.plus {
					c.binding = nil
				}
				exchange = scram.NewClient(c.binding)
				answer = wire.AppendInitialResponse(nil, exchange.Mechanism, []byte(exchange.Header+exchange.First))[wire.HeaderSize:]
			case wire.AuthSASLContinue:
				if err := exchange.Challenged(body[4:]); err != nil {
					c.t.Fatal(err)
				}
				clientKey, storedKey := keysOf(c.t, c.password, exchange.Salt, exchange.Iterations)
				answer = []byte(exchange.Prove(&clientKey, &storedKey))
				shown = bytes.ReplaceAll(shown, []byte(exchange.ServerNonce), bytes.Repeat([]byte{'n'}, len(exchange.ServerNonce)))
			case wire.AuthSASLFinal:
				clear(shown[len("1234v="):])
			}
		}
		c.trace = append(c.trace, fmt.Sprintf("%c %q", typ, shown))
		if answer != nil {
			c.write(wire.AppendPassword(nil, answer))
		}
		if typ == wire.MsgReadyForQuery {
			return
		}
	}
}

// run adds the reply to a Query to the trace.
func (c *byteClient) run(sql string) {
	c.t.Helper()
	c.write(wire.AppendFrame(nil, wire.MsgQuery, []byte(sql), []byte{0}))
	c.toReady()
}

// toReady reads up to ReadyForQuery, or to the end of the stream.
func (c *byteClient) toReady() {
	c.t.Helper()
	for {
		typ, body := c.message()
		if typ == 0 {
			c.trace = append(c.trace, "closed")
			return
		}
		c.trace = append(c.trace, fmt.Sprintf("%c %q", typ, body))
		if typ == wire.MsgReadyForQuery {
			return
		}
	}
}

func (c *byteClient) transcript() string { return strings.Join(c.trace, "\n") }

// of counts the messages of a type in the transcript.
func (c *byteClient) of(typ byte) []string {
	var found []string
	for _, line := range c.trace {
		if strings.HasPrefix(line, string(typ)+" ") {
			found = append(found, line)
		}
	}
	return found
}
