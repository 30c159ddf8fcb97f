package wire

import (
	"encoding/binary"
	"slices"
)

// HeaderSize is a message's type byte and its length.
const HeaderSize = 5

const (
	// maxMessage is what the server accepts and sends at most (PQ_LARGE_MESSAGE_LIMIT is
	// MaxAllocSize - 1, one GiB); a larger length means that framing was lost.
	maxMessage = 1 << 30
	// MaxText is the size up to which the text of a Query or Parse is gathered and shown to the
	// Rewriter. Longer ones stream through, and so do those beyond MaxNames for which there is no
	// memory; see memory.LongMessages.
	MaxText = 8 << 20
	// MaxReport is the size up to which an ErrorResponse or NoticeResponse is gathered to be
	// edited. Longer ones stream through.
	MaxReport = 1 << 20
	// MaxNames is how much of any message a session may gather, and of a Bind is held back to read the
	// two names at its head. A name is cut to 63 bytes by the server only for SQL-level statements, so
	// there is no natural limit.
	MaxNames = 32 << 10
	// MaxSmall bounds ParameterStatus and CommandComplete when their bodies are read.
	MaxSmall = 64 << 10
)

// Types of the messages that mean something to a session, named as in the Postgres manual.
// The same letter may mean different things in the two directions.
const (
	// client -> server
	MsgBind         = 'B'
	MsgClose        = 'C'
	MsgDescribe     = 'D'
	MsgExecute      = 'E'
	MsgFlush        = 'H'
	MsgFunctionCall = 'F'
	MsgCopyFail     = 'f'
	MsgParse        = 'P'
	MsgPassword     = 'p' // PasswordMessage, SASLInitialResponse, SASLResponse, GSSResponse
	MsgQuery        = 'Q'
	MsgSync         = 'S'
	MsgTerminate    = 'X'

	// both directions
	MsgCopyData = 'd'
	MsgCopyDone = 'c'

	// server -> client
	MsgAuthentication       = 'R'
	MsgBackendKeyData       = 'K'
	MsgBindComplete         = '2'
	MsgCloseComplete        = '3'
	MsgCommandComplete      = 'C'
	MsgCopyBothResponse     = 'W'
	MsgCopyInResponse       = 'G'
	MsgCopyOutResponse      = 'H'
	MsgDataRow              = 'D'
	MsgEmptyQueryResponse   = 'I'
	MsgErrorResponse        = 'E'
	MsgFunctionCallResponse = 'V'
	MsgNegotiateProtocol    = 'v'
	MsgNoData               = 'n'
	MsgNoticeResponse       = 'N'
	MsgNotification         = 'A'
	MsgParameterDescription = 't'
	MsgParameterStatus      = 'S'
	MsgParseComplete        = '1'
	MsgPortalSuspended      = 's'
	MsgReadyForQuery        = 'Z'
	MsgRowDescription       = 'T'
)

// FrameLen reads the header at the head of b, which holds at least HeaderSize bytes, and returns
// the size of the whole message including its type byte; ok is false when the length is impossible.
func FrameLen(b []byte) (size int, ok bool) {
	n := binary.BigEndian.Uint32(b[1:HeaderSize])
	return int(n) + 1, n >= 4 && n <= maxMessage
}

// CString splits b at its first NUL; ok is false when there is none.
func CString(b []byte) (s, rest []byte, ok bool) {
	for i, c := range b {
		if c == 0 {
			return b[:i], b[i+1:], true
		}
	}
	return nil, nil, false
}

// AppendFrame appends a message of type typ with the given parts as body.
func AppendFrame(dst []byte, typ byte, parts ...[]byte) []byte {
	size := 4
	for _, p := range parts {
		size += len(p)
	}
	dst = append(slices.Grow(dst, 1+size), typ)
	dst = binary.BigEndian.AppendUint32(dst, uint32(size))
	for _, p := range parts {
		dst = append(dst, p...)
	}
	return dst
}

// AppendTextFrame is AppendFrame with head, a text with its terminator, and tail as body. text appends the text, which has
// about that size, so that there is no copy of it in between.
func AppendTextFrame(dst []byte, typ byte, head []byte, size int, text func(b []byte) []byte, tail []byte) []byte {
	start := len(dst)
	dst = append(slices.Grow(dst, HeaderSize+len(head)+size+1+len(tail)), typ, 0, 0, 0, 0)
	dst = append(append(text(append(dst, head...)), 0), tail...)
	setFrameLen(dst[start:])
	return dst
}

// setFrameLen writes the length into the header at the head of the whole message b.
func setFrameLen(b []byte) []byte {
	binary.BigEndian.PutUint32(b[1:HeaderSize], uint32(len(b)-1))
	return b
}
