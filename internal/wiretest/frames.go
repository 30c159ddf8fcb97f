package wiretest

import (
	"encoding/binary"
	"sync"
)

// Direction of bytes, seen from the middleman.
type Direction int

// The directions.
const (
	Forward Direction = iota // client to server
	Back                     // server to client
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
	mu      sync.Mutex
	streams [2]stream
}

// stream is what is known of the bytes of one direction.
type stream struct {
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
	f.streams[Back].mode = modeMessage
	return f
}

// next takes some of b: up to the end of a frame at most, and no further than limit bytes into it. It
// returns how many bytes it took and where in the frame that is; whole tells that the frame is complete.
func (f *framing) next(d Direction, b []byte) (n, size int, whole bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &f.streams[d]
	if s.size == 0 {
		n = min(headSizes[s.mode]-len(s.head), len(b))
		s.head = append(s.head, b[:n]...)
		if len(s.head) < headSizes[s.mode] {
			return n, 0, false
		}
		s.size = s.frameSize()
		s.left = s.size - len(s.head)
	}
	k := min(s.left, len(b)-n)
	s.left -= k
	n += k
	size = s.size
	if s.left > 0 {
		return n, size, false
	}
	f.ended(d, s)
	s.head, s.size = nil, 0
	return n, size, true
}

func (s *stream) frameSize() int {
	switch s.mode {
	case modeStartup:
		return max(8, int(binary.BigEndian.Uint32(s.head)))
	case modeMessage:
		return max(5, 1+int(binary.BigEndian.Uint32(s.head[1:])))
	case modeTLS:
		return 5 + int(binary.BigEndian.Uint16(s.head[3:]))
	}
	return 1
}

// ended notes what a whole frame says about those to come.
func (f *framing) ended(d Direction, s *stream) {
	switch s.mode {
	case modeStartup:
		switch binary.BigEndian.Uint32(s.head[4:]) {
		case codeSSL, codeGSS:
			f.streams[Back].mode = modeAnswer
		case codeCancel:
		default:
			s.mode = modeMessage
		}
	case modeAnswer:
		f.streams[Back].mode = modeMessage
		if s.head[0] == 'S' {
			f.streams[Back].mode, f.streams[Forward].mode = modeTLS, modeTLS
		}
	}
}
