package proxy

import (
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/wire"
)

// minorsTried are the minors of protocol 3 that tests ask for: the two that servers know, the one that was never
// used, the next, and unknown ones, among them the one that libpq asks for to keep middlemen supple.
var minorsTried = []uint32{0, 1, 2, 3, 9, 9999, 0xffff} //nolint:gochecknoglobals // never changed

// newestMinor is what the server under test knows.
func newestMinor() uint32 {
	if shared.cluster.Installation().Major >= 18 {
		return 2
	}
	return 0
}

// keySize is that of cancel keys in sessions for which a client asked for a minor.
func keySize(minor uint32) int {
	if min(minor, newestMinor()) >= 2 {
		return 32
	}
	return 4
}

// expectedNegotiation is the message with which the server must have answered; "" when it has nothing to
// negotiate.
func expectedNegotiation(minor uint32, options ...string) string {
	agreed := min(minor, newestMinor())
	if agreed == minor && len(options) == 0 {
		return ""
	}
	body := binary.BigEndian.AppendUint32(nil, wire.ProtocolMajor<<16|agreed)
	body = binary.BigEndian.AppendUint32(body, uint32(len(options)))
	for _, o := range options {
		body = append(append(body, o...), 0)
	}
	return fmt.Sprintf("v %q", body)
}

// TestMinorsAsTheServer logs in directly and through the proxy in every way there is. The server's
// messages must be the same, byte by byte and in the same order. With TLS on one of the sides or both only some minors are
// tried, unless MBUS_LONG is set.
func TestMinorsAsTheServer(t *testing.T) {
	long := "_pq_." + strings.Repeat("x", 9000) // fills the largest startup packet
	optionLists := [][]string{nil, {"_pq_.grease", "_pq_.", "_pq_.user"}, {long}}
	logins := []struct {
		user, parameters string
		plus             bool // needs TLS
	}{
		{user: "postgres"},
		{user: "postgres", parameters: "replication\x00database\x00"},
		{user: "clear_user"},
		{user: "md5_user"},
		{user: "scram_user"},
		{user: "scram_user", plus: true},
		{user: "nobody"},
	}
	for _, tlsClient := range []bool{false, true} {
		for _, mode := range []string{"disable", "require"} {
			p := start(t, how{}, func(c *Config) {
				c.Upstream, c.TLS, c.Verifiers = shared.upstream("sslmode="+mode), shared.serverTLS(), &catalogue{}
			})
			for _, l := range logins {
				if l.plus && !tlsClient {
					continue
				}
				name := fmt.Sprintf("client TLS %t, server sslmode=%s, %s%s, -PLUS %t", tlsClient, mode, l.user, strings.ReplaceAll(l.parameters, "\x00", " "), l.plus)
				t.Run(name, func(t *testing.T) {
					minors, lists := minorsTried, optionLists
					if (tlsClient || mode == "require") && !thorough() {
						minors, lists = []uint32{0, 2, 9999}, optionLists[:2]
					}
					for _, minor := range minors {
						for _, options := range lists {
							for _, password := range []string{"secret", "wrong"} {
								if password == "wrong" && (minor != 9999 || options != nil) {
									continue
								}
								parameters := l.parameters
								for _, o := range options {
									parameters += o + "\x00on\x00"
								}
								var clients []*byteClient
								for _, addr := range []string{shared.address(), p.addr} {
									c := dialBytes(t, addr, tlsClient)
									c.user, c.password, c.plus = l.user, password, l.plus
									c.login(wire.ProtocolMajor<<16|minor, parameters)
									if c.key != "" {
										c.run("select 1")
									}
									_ = c.conn.Close()
									clients = append(clients, c)
								}
								direct, proxied := clients[0], clients[1]
								if direct.transcript() != proxied.transcript() {
									t.Errorf("3.%d, %d options: direct\n%s\nthrough the proxy\n%s", minor, len(options), direct.transcript(), proxied.transcript())
								}
								if got := strings.Join(proxied.of(wire.MsgNegotiateProtocol), "\n"); got != expectedNegotiation(minor, options...) {
									t.Errorf("3.%d, %d options: negotiated\n%s\nwant\n%s", minor, len(options), got, expectedNegotiation(minor, options...))
								}
								in := l.user != "nobody" && (password == "secret" || l.user == "postgres")
								if in != (proxied.key != "") || in && len(proxied.key) != 4+keySize(minor) {
									t.Errorf("3.%d: key data of %d bytes", minor, len(proxied.key))
								}
							}
						}
					}
				})
			}
		}
	}
}

// TestOneNegotiation: with sslmode=allow and prefer a server may refuse the first connection after it has negotiated
// on it. The client is told of the negotiation of the connection that it gets only.
func TestOneNegotiation(t *testing.T) {
	for _, c := range []struct{ mode, user string }{
		{"allow", "only_tls"}, {"prefer", "only_plain"}, {"disable", "only_tls"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			slow := slowly(t, shared.address())
			_, port, _ := net.SplitHostPort(slow)
			p := start(t, how{}, func(cfg *Config) { cfg.Upstream = "host=127.0.0.1 port=" + port + " sslmode=" + c.mode })
			w := dialBytes(t, p.addr, false)
			w.user = c.user
			w.login(wire.ProtocolMajor<<16|9999, "_pq_.grease\x00on\x00")
			if got, want := strings.Join(w.of(wire.MsgNegotiateProtocol), "\n"), expectedNegotiation(9999, "_pq_.grease"); got != want {
				t.Errorf("negotiated\n%s\nwant\n%s\nall:\n%s", got, want, w.transcript())
			}
			if w.trace[0][0] != wire.MsgNegotiateProtocol {
				t.Errorf("not first:\n%s", w.transcript())
			}
			if refused := c.mode == "disable"; refused != (w.key == "") {
				t.Errorf("not as expected:\n%s", w.transcript())
			}
		})
	}
}

// slowly listens and forwards to addr. What the server says comes in two pieces, the first being its
// first message, if that is in plaintext.
func slowly(t *testing.T, addr string) string {
	t.Helper()
	forward := func(to, from net.Conn, wait bool) {
		defer to.Close()
		defer from.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := from.Read(buf)
			b := buf[:n]
			if size, ok := 0, false; wait && n > wire.HeaderSize {
				if size, ok = wire.FrameLen(b); ok && size < n {
					wait = false
					if _, err := to.Write(b[:size]); err != nil {
						return
					}
					time.Sleep(50 * time.Millisecond) // long enough for the reader to act on the first piece alone
					b = b[size:]
				}
			}
			if _, werr := to.Write(b); werr != nil || err != nil {
				return
			}
		}
	}
	return proxytest.Pretend(t, func(client net.Conn) {
		server, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		go forward(server, client, false)
		forward(client, server, true)
	}).String()
}
