package proxy

import "encoding/binary"

// headerSize is a message's type byte and its length.
const headerSize = 5

const (
	// maxMessage is what the server accepts and sends at most (PQ_LARGE_MESSAGE_LIMIT is
	// MaxAllocSize - 1, one GiB); a larger length means that framing was lost.
	maxMessage = 1 << 30
	// maxText is the size up to which the text of a Query or Parse is gathered and shown to the
	// Rewriter. Longer ones stream through, and so do those beyond maxNames for which there is no
	// memory; see gathering.
	maxText = 8 << 20
	// maxReport is the size up to which an ErrorResponse or NoticeResponse is gathered to be
	// edited. Longer ones stream through.
	maxReport = 1 << 20
	// maxNames is how much of any message a session may gather, and of a Bind is held back to read the
	// two names at its head. A name is cut to 63 bytes by the server only for SQL-level statements, so
	// there is no natural limit.
	maxNames = 32 << 10
	// maxSmall bounds ParameterStatus and CommandComplete when their bodies are read.
	maxSmall = 64 << 10
)

// Types of the messages that mean something to a session, named as in the Postgres manual.
// The same letter may mean different things in the two directions.
const (
	// client -> server
	msgBind         = 'B'
	msgClose        = 'C'
	msgDescribe     = 'D'
	msgExecute      = 'E'
	msgFlush        = 'H'
	msgFunctionCall = 'F'
	msgCopyFail     = 'f'
	msgParse        = 'P'
	msgPassword     = 'p' // PasswordMessage, SASLInitialResponse, SASLResponse, GSSResponse
	msgQuery        = 'Q'
	msgSync         = 'S'
	msgTerminate    = 'X'

	// both directions
	msgCopyData = 'd'
	msgCopyDone = 'c'

	// server -> client
	msgAuthentication       = 'R'
	msgBackendKeyData       = 'K'
	msgBindComplete         = '2'
	msgCloseComplete        = '3'
	msgCommandComplete      = 'C'
	msgCopyBothResponse     = 'W'
	msgCopyInResponse       = 'G'
	msgCopyOutResponse      = 'H'
	msgDataRow              = 'D'
	msgEmptyQueryResponse   = 'I'
	msgErrorResponse        = 'E'
	msgFunctionCallResponse = 'V'
	msgNegotiateProtocol    = 'v'
	msgNoData               = 'n'
	msgNoticeResponse       = 'N'
	msgNotification         = 'A'
	msgParameterDescription = 't'
	msgParameterStatus      = 'S'
	msgParseComplete        = '1'
	msgPortalSuspended      = 's'
	msgReadyForQuery        = 'Z'
	msgRowDescription       = 'T'
)

// frameLen reads the header at the head of b, which holds at least headerSize bytes, and returns
// the size of the whole message including its type byte; ok is false when the length is impossible.
func frameLen(b []byte) (size int, ok bool) {
	n := binary.BigEndian.Uint32(b[1:headerSize])
	return int(n) + 1, n >= 4 && n <= maxMessage
}

// cstring splits b at its first NUL; ok is false when there is none.
func cstring(b []byte) (s, rest []byte, ok bool) {
	for i, c := range b {
		if c == 0 {
			return b[:i], b[i+1:], true
		}
	}
	return nil, nil, false
}

// appendFrame appends a message of type typ with the given parts as body.
func appendFrame(dst []byte, typ byte, parts ...[]byte) []byte {
	size := 4
	for _, p := range parts {
		size += len(p)
	}
	dst = append(dst, typ)
	dst = binary.BigEndian.AppendUint32(dst, uint32(size))
	for _, p := range parts {
		dst = append(dst, p...)
	}
	return dst
}

// setFrameLen writes the length into the header at the head of the whole message b.
func setFrameLen(b []byte) []byte {
	binary.BigEndian.PutUint32(b[1:headerSize], uint32(len(b)-1))
	return b
}
