package pipeline

import (
	"math"

	"mbusproxy/proxy/wire"
)

// A client that has sent Terminate, or has ended its sending, does not want what a statement of it
// still waits for: the wait ends, and the session with it. What the client has sent between the
// statement and its Terminate does not run, as it would not if the client had closed the connection.
//
// A statement that has not slept yet is none that waits. If the first look finds something, it runs
// and is answered, as without a wait: a client may send all that it has to say, with a Terminate at
// the end, and then read.

// behind looks for a Terminate in what comes behind a statement that waits.
type behind struct {
	skip int // bytes of the message under way
	head [wire.HeaderSize]byte
	n    int // bytes of head
}

// saw gets what has come next, and reports whether there is a Terminate in it.
func (b *behind) saw(next []byte) (terminate bool) {
	for len(next) > 0 {
		if b.skip > 0 {
			k := min(b.skip, len(next))
			b.skip -= k
			next = next[k:]
			continue
		}
		k := copy(b.head[b.n:], next)
		next = next[k:]
		if b.n += k; b.n < wire.HeaderSize {
			return false
		}
		b.n = 0
		size, ok := wire.FrameLen(b.head[:])
		switch {
		case !ok: // nothing behind it is a message
			b.skip = math.MaxInt
		case b.head[0] == wire.MsgTerminate && size == wire.HeaderSize:
			return true
		default:
			b.skip = size - wire.HeaderSize
		}
	}
	return false
}

// InWait reports whether the message set aside is a statement that waits. Then what the client sends
// meanwhile can be read ahead, for SawAhead.
func (f *ClientFlow) InWait() bool { return f.waiting != nil }

// SawAhead gets what has been read ahead while a statement waits, in pieces. It is to be fed behind
// what TakeAside has returned.
func (f *ClientFlow) SawAhead(next []byte) {
	if f.waiting != nil && f.waiting.behind.saw(next) {
		f.atHand.Leave()
	}
}

// ClientEnded is called when the client's stream has ended while a statement waits.
func (f *ClientFlow) ClientEnded() { f.atHand.Leave() }

// leaveWait ends the session of a client that has left while its statement, which is not to run,
// slept: the server gets a Terminate in the statement's place. It reports whether that is so.
func (f *ClientFlow) leaveWait(frame []byte, pos int, out *wire.Splicer) bool {
	if !f.waiting.slept || !f.atHand.HasLeft() {
		return false
	}
	at := f.startOf(frame, pos)
	out.Replace(at, at, wire.AppendFrame(nil, wire.MsgTerminate))
	f.Terminated = true
	return true
}
