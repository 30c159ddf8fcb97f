package proxy

import (
	"context"
	"math"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"
)

// What clients can take before they have logged in. docs/operations.md says why these bounds are as they are.
const (
	// maxStartups is how many connections may be in startup, from accept to AuthenticationOk.
	maxStartups  = 2048
	startupGrace = 500 * time.Millisecond
	// maxLogins is how many of them may have a connection to the server, or ask for one; others wait for their turn,
	// up to maxLoginQueue of them. The rest of maxStartups is for those that have not said yet what they want.
	maxLogins     = 64
	loginGrace    = 3 * time.Second
	maxLoginQueue = 1536
	// maxBeforePacket is what a client may send up to the end of its startup packet, with the handshake of TLS.
	maxBeforePacket = 16 << 10
)

// newGates makes the gate of all startups and that of those which need the server. They take no more than half of the
// descriptors that the process may have, so that none is missing where a session needs it.
func newGates(descriptors int) (places, logins *gate) {
	room := min(maxStartups, max(descriptors/2, 8))
	places = newGate(room, startupGrace, 0)
	places.spare = room / 32
	return places, newGate(min(maxLogins, room/8), loginGrace, room*maxLoginQueue/maxStartups)
}

// descriptors is how many the process may have.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || uint64(limit.Cur) > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}

// startup is a client's connection that has not logged in.
type startup struct {
	// origin is the address of a client, or the network that one host has of IPv6; the zero value with unix sockets.
	origin netip.Prefix
	// end ends the startup's context.
	end     context.CancelCauseFunc
	dropped atomic.Bool // to make room

	link *link // set before the first Read
	// since is when the proxy began to wait for the client's bytes, in nanoseconds since 1970; 0: it does not wait.
	since atomic.Int64
	// packet is set when the startup packet has come. Owned by the goroutine of the startup, as is got.
	packet bool
	got    int
	// asked is set when the client waits for an answer to its startup packet.
	asked bool
}

// newStartup makes the startup of an accepted connection.
func newStartup(conn net.Conn, end context.CancelCauseFunc) *startup {
	s := &startup{end: end}
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		s.origin = originOf(a.AddrPort().Addr())
	}
	return s
}

// originOf returns what is counted as one address. A host with IPv6 has a whole network of 64 bits.
func originOf(a netip.Addr) netip.Prefix {
	a = a.Unmap()
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, _ := a.WithZone("").Prefix(bits) // never fails with these lengths
	return p
}

// drop ends the startup to make room for another.
func (s *startup) drop(why error) {
	s.dropped.Store(true)
	s.end(why)
}

// silence is for how long the proxy has been waiting for the client.
func (s *startup) silence(now time.Time) time.Duration {
	since := s.since.Load()
	if since == 0 {
		return 0
	}
	return now.Sub(time.Unix(0, since))
}

// hasInput reports whether there are bytes of the client that were not read yet.
func (s *startup) hasInput() bool { return s.link != nil && s.link.hasInput() }

// watched is a client's connection during startup: it notes when the proxy waits for the client, and bounds what comes
// before the startup packet.
type watched struct {
	socket
	startup *startup
}

func (w watched) Read(b []byte) (int, error) {
	s := w.startup
	if !s.packet {
		if s.got >= maxBeforePacket {
			return 0, errNotSpoken
		}
		b = b[:min(len(b), maxBeforePacket-s.got)]
	}
	s.since.Store(time.Now().UnixNano())
	n, err := w.socket.Read(b)
	s.since.Store(0)
	s.got += n
	return n, err
}

// watch makes l note in s when the proxy waits for the client.
func (s *startup) watch(l *link) {
	s.link = l
	l.readThrough(watched{l.sock, s})
}

// unwatch ends that.
func (s *startup) unwatch() { s.link.readThrough(s.link.sock) }
