// Package life decides how a session ends: who has closed, what is said last and to whom, what is half closed, and
// when both connections are closed. The relay moves sessions in two ways, by event loops and by goroutines; both
// report what happens as an [Event] and carry out the [Actions] that [State.On] returns.
//
// # Invariants
//
//   - Both connections are closed once: by the one transition into Closed.
//   - The proxy says at most one message of its own, and nothing goes to the client behind it.
//   - A session that drains ends only when nothing is outstanding; the client has every reply by then.
//   - Once Shutdown has lost patience (Expire), each state is left after the grace time at the latest.
//   - An event that cannot happen in a state panics. Its driver recovers and reports Cut, which ends that one session.
//
// # What it refuses to know
//
// Connections, clocks, goroutines and messages: it computes, and imports nothing of ours.
package life

import (
	"fmt"
	"strings"
)

// State is where a session stands after startup. The zero value is that of a new session.
type State uint8

const (
	// Relaying has both directions move.
	Relaying State = iota
	// Draining is Relaying after Shutdown has begun: the session ends as soon as nothing is outstanding.
	Draining
	// Terminated is entered when the client's Terminate is forwarded. What else it sends is thrown away. The server
	// answers what it was asked, and closes.
	Terminated
	// Refused is entered when the server takes nothing more. What the client sends is thrown away; what the server
	// has said before still goes to the client.
	Refused
	// HalfClosed is entered when the client's stream has ended and nothing of it is left to read. The server answers
	// what it was asked, and closes.
	HalfClosed
	// Delivering is entered when nothing more is read from the server. The client is to take what is left for it, the
	// last message of the proxy included. What the client sends is thrown away.
	Delivering
	// DeliveringHalfClosed is Delivering where the client's stream has ended.
	DeliveringHalfClosed
	// Lingering is entered when the client has been sent everything. It is to close, and until then
	// what it sends is read and thrown away: to close a socket with unread input makes the client's
	// system discard what it has not read yet.
	Lingering
	// Closed is entered once, when both connections are closed. Every event is too late.
	Closed
)

func (s State) String() string {
	return name(int(s), "Relaying", "Draining", "Terminated", "Refused", "HalfClosed", "Delivering",
		"DeliveringHalfClosed", "Lingering", "Closed")
}

// Forwards reports whether what the client sends goes to the server; if not, it is thrown away.
func (s State) Forwards() bool { return s <= Draining }

// ReadsClient reports whether the client's stream is still read.
func (s State) ReadsClient() bool { return s != HalfClosed && s != DeliveringHalfClosed && s != Closed }

// ReadsServer reports whether the server's stream is still read.
func (s State) ReadsServer() bool { return s <= HalfClosed }

// Event is what happens to a session.
type Event uint8

const (
	// ClientTerminated comes when a Terminate is about to be forwarded.
	ClientTerminated Event = iota
	// ClientEnded comes at the end of the client's stream (FIN, or close_notify of TLS).
	ClientEnded
	// ClientLost comes when reading from the client has failed, for example by a reset.
	ClientLost
	// ServerRefused comes when writing to the server has failed.
	ServerRefused
	// ServerEnded comes at the end of the server's stream, or when reading from it has failed.
	ServerEnded
	// LostSync comes when the server has sent what cannot answer the outstanding requests. What it sent before is
	// for the client.
	LostSync
	// Drain comes when Shutdown has begun. In Draining it comes again whenever nothing may be outstanding any more.
	Drain
	// Expire comes when the time for draining is over.
	Expire
	// Delivered comes when the client's socket has taken everything, and its half close.
	Delivered
	// TimedOut comes when the grace time is over.
	TimedOut
	// LoopFailed comes when the event loop of the session can wait for nothing any more.
	LoopFailed
	// Cut comes when the session is to end at once: for Close, after a write to the client that failed, a panic, or
	// statements that the proxy can read in two ways.
	Cut
)

func (e Event) String() string {
	return name(int(e), "ClientTerminated", "ClientEnded", "ClientLost", "ServerRefused", "ServerEnded", "LostSync",
		"Drain", "Expire", "Delivered", "TimedOut", "LoopFailed", "Cut")
}

// Facts are what the driver knows at an event. They matter for ServerEnded, Drain, Expire and LoopFailed.
type Facts struct {
	// Served: the server has answered all that it was sent, and is in no transaction. Never set with replication,
	// whose messages are not looked at.
	Served bool
	// Pending: a statement is with the Rewriter or waits for room in the request queue, or the client has not
	// taken all replies.
	Pending bool
	// CanSpeak: the stream to the client is between two messages. Never set with replication.
	CanSpeak bool
	// Silent: the server's last message was no report, so it has not said why it ends.
	Silent bool
	// Provoked: the server was sent something to which it may answer by closing without a word, such as half a
	// message.
	Provoked bool
}

// Actions are what the driver is to do: StopRewriter and the timer first, then the last message to
// the client, Terminate before ShutServer. ShutClient comes after the last message; a loop does it
// last of all, because it reports Delivered from within.
type Actions uint16

const (
	// StopRewriter ends the context of the Rewriter's calls.
	StopRewriter Actions = 1 << iota
	// StartTimer starts the grace time, anew where it runs already. TimedOut is reported at its end.
	StartTimer
	// SayShutdown sends the client the FATAL report of an administrator's shutdown.
	SayShutdown
	// SayServerEnded sends the client the FATAL report of a server that ended without a word.
	SayServerEnded
	// SayLoopFailed sends the client the FATAL report of a failure of the proxy's own.
	SayLoopFailed
	// ShutClient half closes the connection to the client, behind all that is for it; then Delivered is reported.
	ShutClient
	// Terminate sends the server a Terminate.
	Terminate
	// ShutServer half closes the connection to the server. Where the server is not read any more, a
	// loop first throws away what has not been sent to it.
	ShutServer
	// Close closes both connections.
	Close
)

// Has reports whether all of b are among a.
func (a Actions) Has(b Actions) bool { return a&b == b }

func (a Actions) String() string {
	var all []string
	for i := range 16 {
		if a&(1<<i) != 0 {
			all = append(all, name(i, "StopRewriter", "StartTimer", "SayShutdown", "SayServerEnded", "SayLoopFailed",
				"ShutClient", "Terminate", "ShutServer", "Close"))
		}
	}
	return strings.Join(all, " ")
}

// On returns the state after an event, and what is to be done. It panics where the event cannot happen.
func (s State) On(e Event, f Facts) (next State, do Actions) {
	if s == Closed {
		return Closed, 0
	}
	switch e {
	case ClientTerminated:
		switch s {
		case Relaying, Draining:
			return Terminated, 0
		case Delivering, Lingering: // neither driver reports it here, for both ask Forwards first; a driver need not
			return s, 0
		}
	case ClientEnded, ClientLost:
		switch s {
		case Relaying, Draining:
			if e == ClientLost {
				return s.close(0)
			}
			return HalfClosed, ShutServer
		case Terminated, Refused:
			return HalfClosed, 0
		case Delivering:
			return DeliveringHalfClosed, 0
		case Lingering:
			return s.close(0)
		}
	case ServerRefused:
		if s.Forwards() {
			return Refused, 0
		}
		return s, 0 // it is about to be seen closed, or known to be
	case ServerEnded:
		if s.ReadsServer() {
			if f.CanSpeak && f.Silent && !f.Provoked && !s.clientDone() {
				do = SayServerEnded
			}
			return s.deliver(do)
		}
	case LostSync:
		if s.ReadsServer() {
			return s.deliver(StartTimer | s.shutServer())
		}
	case Drain:
		switch {
		case !s.Forwards():
			return s, 0 // it ends by itself, or with Expire
		case f.Served && !f.Pending && f.CanSpeak:
			return s.leave(f)
		}
		return Draining, 0
	case Expire:
		switch {
		case s.ReadsServer():
			return s.leave(f)
		case s == Lingering:
			return s, 0 // the timer runs
		}
		return s, StartTimer
	case Delivered:
		switch s {
		case Delivering:
			return Lingering, StartTimer
		case DeliveringHalfClosed:
			return s.close(0)
		}
	case TimedOut:
		if !s.ReadsServer() {
			return s.close(0)
		}
	case LoopFailed:
		if s.ReadsServer() {
			return s.close(s.lastMessage(SayLoopFailed, f) | s.terminate(f))
		}
		return s.close(0)
	case Cut:
		return s.close(0)
	}
	panic(fmt.Errorf("session is %v, which cannot be at event %v", s, e))
}

// leave ends the session on the proxy's own account.
func (s State) leave(f Facts) (next State, do Actions) {
	return s.deliver(StartTimer | s.lastMessage(SayShutdown, f) | s.terminate(f) | s.shutServer())
}

// deliver enters the state in which the client takes what is left for it.
func (s State) deliver(do Actions) (next State, _ Actions) {
	do |= StopRewriter | ShutClient
	if s == HalfClosed {
		return DeliveringHalfClosed, do
	}
	return Delivering, do
}

// close enters Closed.
func (s State) close(do Actions) (next State, _ Actions) {
	if s.ReadsServer() {
		do |= StopRewriter
	}
	return Closed, do | Close
}

// clientDone reports whether the client has said that it is about to leave.
func (s State) clientDone() bool { return s == Terminated || s == HalfClosed }

// lastMessage returns say where the client is to be told: not if it is about to leave and misses nothing.
func (s State) lastMessage(say Actions, f Facts) Actions {
	if !f.CanSpeak || s.clientDone() && f.Served {
		return 0
	}
	return say
}

// terminate returns Terminate where the server takes one. Of a transaction or a statement that runs it learns by
// the half close.
func (s State) terminate(f Facts) Actions {
	if s.Forwards() && f.Served {
		return Terminate
	}
	return 0
}

// shutServer returns ShutServer where it has not been done.
func (s State) shutServer() Actions {
	if s == HalfClosed {
		return 0
	}
	return ShutServer
}

func name(i int, names ...string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("unknown (%d)", i)
}
