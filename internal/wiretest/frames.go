package wiretest

import (
	"encoding/binary"
	"sync"
)

// Direction of bytes, seen from the middleman.
type Direction int

// The directions.
const (
	Forward Direction = iota // from the client's end
	Back                     // from the server's end
)

func (d Direction) String() string { return [...]string{"forward", "back"}[d] }

// Codes of packets before a session, as in pqcomm.h of Postgres.
const (
	codeSSL    = 1234<<16 | 5679
	codeGSS    = 1234<<16 | 5680
	codeCancel = 1234<<16 | 5678
)

// framing follows the frames of a connection in both directions: startup packets, the one-byte answers to
// requests for encryption, messages, and records of TLS.
type framing struct {
	mu    sync.Mutex
	lanes [2]lane
}

// lane is one direction.
type lane struct {
	mode mode
	head []byte // of the frame under way, as far as it is needed
	left int    // bytes of the frame still to come once its size is known
	size int    // 0: not known yet
}

// mode says what comes next in a direction.
type mode int

const (
	modeStartup mode = iota // packets with a length and a code; the client's at the beginning
	modeMessage             // a type and a length
	modeAnswer              // one byte
	modeTLS
)

// headSizes are how much must be known of a frame to know its size.
var headSizes = [...]int{modeStartup: 8, modeMessage: 5, modeAnswer: 1, modeTLS: 5} //nolint:gochecknoglobals // a constant

func newFraming() *framing {
	f := &framing{}
	f.lanes[Back].mode = modeMessage
	return f
}

// next takes some of b: up to the end of a frame at most, and no further than limit bytes into it. It
// returns how many bytes it took and where in the frame that is; whole tells that the frame is complete.
func (f *framing) next(d Direction, b []byte) (n, size int, whole bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := &f.lanes[d]
	if l.size == 0 {
		n = min(headSizes[l.mode]-len(l.head), len(b))
		l.head = append(l.head, b[:n]...)
		if len(l.head) < headSizes[l.mode] {
			return n, 0, false
		}
		l.size = l.frameSize()
		l.left = l.size - len(l.head)
	}
	k := min(l.left, len(b)-n)
	l.left -= k
	n += k
	size = l.size
	if l.left > 0 {
		return n, size, false
	}
	f.ended(d, l)
	l.head, l.size = nil, 0
	return n, size, true
}

func (l *lane) frameSize() int {
	switch l.mode {
	case modeStartup:
		return max(8, int(binary.BigEndian.Uint32(l.head)))
	case modeMessage:
		return max(5, 1+int(binary.BigEndian.Uint32(l.head[1:])))
	case modeTLS:
		return 5 + int(binary.BigEndian.Uint16(l.head[3:]))
	}
	return 1
}

// ended notes what a whole frame says about those to come.
func (f *framing) ended(d Direction, l *lane) {
	switch l.mode {
	case modeStartup:
		switch binary.BigEndian.Uint32(l.head[4:]) {
		case codeSSL, codeGSS:
			f.lanes[Back].mode = modeAnswer
		case codeCancel:
		default:
			l.mode = modeMessage
		}
	case modeAnswer:
		f.lanes[Back].mode = modeMessage
		if l.head[0] == 'S' {
			f.lanes[Back].mode, f.lanes[Forward].mode = modeTLS, modeTLS
		}
	}
}
