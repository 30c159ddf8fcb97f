package startup

import (
	"context"
	"math"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/origin"
	"mbusproxy/proxy/wire"
)

// What clients can take before they have logged in. docs/operations.md says why these bounds are as they are.
const (
	// MaxStartups is how many connections may be in startup, from accept to AuthenticationOk.
	MaxStartups  = 2048
	startupGrace = 500 * time.Millisecond
	// MaxLogins is how many of them may have a connection to the server, or ask for one; others wait for their turn,
	// up to maxLoginQueue of them. The rest of MaxStartups is for those that have not said yet what they want.
	MaxLogins     = 64
	loginGrace    = 3 * time.Second
	leastGrace    = 100 * time.Millisecond
	maxLoginQueue = 1536
	// failedLogins is how many log-ins a second the server gets at most that come to nothing, beyond the first
	// failedAtOnce of them: each costs it a process.
	failedLogins = 20
	failedAtOnce = 16
	// maxBeforePacket is what a client may send up to the end of its startup packet, with the handshake of TLS.
	maxBeforePacket = 16 << 10
)

// NewGates makes the gate of all startups, that of those which need the server, and the place of those that wait for it. They
// take no more than half of the descriptors that the process may have, so that none is missing where a session needs it.
func NewGates(descriptors int) (places, logins *Gate, held *Held) {
	room := min(MaxStartups, max(descriptors/2, 8))
	places = newGate(room, startupGrace, 0)
	places.spare = room / 32
	logins = newGate(min(MaxLogins, room/8), loginGrace, room*maxLoginQueue/MaxStartups)
	logins.least, logins.pace, logins.burst = leastGrace, failedLogins, min(failedAtOnce, logins.room)
	return places, logins, &Held{least: logins.room, most: room / 2, all: make(map[*Client]struct{})}
}

// Descriptors is how many the process may have.
func Descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || uint64(limit.Cur) > math.MaxInt32 { //nolint:unconvert // signed on other systems
		return math.MaxInt32
	}
	return int(limit.Cur)
}

// Client is a client's connection that has not logged in.
type Client struct {
	// origin is the address of a client, or the network that one host has of IPv6; the zero value with unix sockets.
	origin netip.Prefix
	// Name is the user of the startup packet; set before the gate of log-ins.
	Name string
	// end ends the startup's context.
	end     context.CancelCauseFunc
	dropped atomic.Bool // to make room

	endpoint *endpoint.Endpoint // set before the first Read
	// since is when the proxy began to wait for the client's bytes, in nanoseconds since 1970; 0: it does not wait.
	since atomic.Int64
	// waited is for how long it had waited before that since it last wrote: bytes that come one by one are no answer.
	waited atomic.Int64
	// packet is set when the startup packet has come. Owned by the goroutine of the startup, as is what follows.
	packet bool
	got    int
	turns  Turns
	inTurn bool
	// account is kept by the Gate that has a pace, and guarded by its mu.
	account account
	// waitedInLine is set where a gate had no place at once.
	waitedInLine bool
	// Asked is set when the client waits for an answer to its startup packet.
	Asked bool
}

// New returns the Client of an accepted connection. end ends the context of its startup.
func New(conn net.Conn, end context.CancelCauseFunc, turns Turns) *Client {
	s := &Client{end: end, turns: turns}
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		s.origin = origin.Network(a.AddrPort().Addr())
	}
	return s
}

// drop ends the startup to make room for another.
func (s *Client) drop(why error) {
	s.dropped.Store(true)
	s.end(why)
}

// silence is for how long the proxy has been waiting for the client's answer to what it wrote last; 0: it does not wait.
func (s *Client) silence(now time.Time) time.Duration {
	since := s.since.Load()
	if since == 0 {
		return 0
	}
	return now.Sub(time.Unix(0, since)) + time.Duration(s.waited.Load())
}

// hasInput reports whether there are bytes of the client that were not read yet.
func (s *Client) hasInput() bool { return s.endpoint != nil && s.endpoint.HasInput() }

// Gone reports whether the client has hung up, so that nothing need be done for it. Where nobody waits it may have said
// before that all that it wants.
func (s *Client) Gone() bool {
	return s.endpoint != nil && s.endpoint.HungUp() && (s.waitedInLine || !s.hasInput())
}

// watched is a client's connection during startup: it notes when and for how long the proxy waits for the client, lets others have the
// turn meanwhile, and bounds what comes before the startup packet.
type watched struct {
	endpoint.Socket
	client *Client
}

func (w watched) Read(b []byte) (int, error) {
	s := w.client
	if !s.packet {
		if s.got >= maxBeforePacket {
			return 0, wire.ErrNotSpoken
		}
		b = b[:min(len(b), maxBeforePacket-s.got)]
	}
	if s.inTurn {
		s.EndTurn()
		defer s.TakeTurn()
	}
	began := time.Now()
	s.since.Store(began.UnixNano())
	n, err := w.Socket.Read(b)
	s.since.Store(0)
	s.waited.Add(int64(time.Since(began)))
	s.got += n
	return n, err
}

func (w watched) Write(b []byte) (int, error) {
	w.client.waited.Store(0)
	return w.Socket.Write(b)
}

// Watch makes l note in s when the proxy waits for the client.
func (s *Client) Watch(l *endpoint.Endpoint) {
	s.endpoint = l
	l.ReadThrough(watched{l.Socket, s})
}

// Unwatch ends that.
func (s *Client) Unwatch() { s.endpoint.ReadThrough(s.endpoint.Socket) }
