package wire

import "sync/atomic"

// Tally counts the messages that a Framer finds, by type. The goroutine that walks counts; any may
// look meanwhile. Each session has two, so it is small: what does not fit into 32 bits is over.
type Tally struct {
	counts [len(messageTypes) + 1]atomic.Uint32
	over   atomic.Pointer[[len(messageTypes) + 1]atomic.Uint64] // nil nearly always
}

// messageTypes are the types of both directions that are counted one by one; all others count as one.
const messageTypes = "BCDEFHPQSXcdfp" + "123AGIKNRTVWZnstv"

// slots leads from a type to its place in a Tally.
var slots = func() (slots [128]uint8) { //nolint:gochecknoglobals // constant
	for i := range slots {
		slots[i] = uint8(len(messageTypes))
	}
	for i := range len(messageTypes) {
		slots[messageTypes[i]] = uint8(i)
	}
	return slots
}()

// add counts n messages; -1 takes one back. It is for one goroutine at a time.
func (t *Tally) add(typ byte, n int) {
	i := slots[typ&127]
	c := &t.counts[i]
	before := c.Load()
	after := before + uint32(n)
	if c.Store(after); (after < before) != (n < 0) {
		t.carry(i, n)
	}
}

// carry notes that a counter has gone round, up or, for n less than 0, down.
func (t *Tally) carry(i uint8, n int) {
	if t.over.Load() == nil {
		t.over.Store(new([len(messageTypes) + 1]atomic.Uint64))
	}
	over := &t.over.Load()[i]
	if n > 0 {
		over.Store(over.Load() + 1<<32)
	} else {
		over.Store(over.Load() - 1<<32)
	}
}

// AddTo adds what has been counted so far to sum.
func (t *Tally) AddTo(sum *MessageCounts) {
	over := t.over.Load()
	for i := range t.counts {
		sum[i] += uint64(t.counts[i].Load())
		if over != nil {
			sum[i] += over[i].Load()
		}
	}
}

// MessageCounts is how many messages of each type have passed in one direction.
type MessageCounts [len(messageTypes) + 1]uint64

// Each gives the numbers of those that have passed, with their names in the Postgres manual, and
// last of all others together as "other".
func (m *MessageCounts) Each(fromServer bool, f func(name string, n uint64)) {
	names := clientMessages
	if fromServer {
		names = serverMessages
	}
	other := m[len(messageTypes)]
	for i, n := range m[:len(messageTypes)] {
		if name := names[messageTypes[i]]; name == "" {
			other += n
		} else if n > 0 {
			f(name, n)
		}
	}
	if other > 0 {
		f("other", other)
	}
}

//nolint:gochecknoglobals // constants
var (
	clientMessages = map[byte]string{
		MsgBind: "Bind", MsgClose: "Close", MsgDescribe: "Describe", MsgExecute: "Execute", MsgFlush: "Flush", MsgFunctionCall: "FunctionCall",
		MsgCopyFail: "CopyFail", MsgParse: "Parse", MsgPassword: "Password", MsgQuery: "Query", MsgSync: "Sync", MsgTerminate: "Terminate",
		MsgCopyData: "CopyData", MsgCopyDone: "CopyDone",
	}
	serverMessages = map[byte]string{
		MsgAuthentication: "Authentication", MsgBackendKeyData: "BackendKeyData", MsgBindComplete: "BindComplete", MsgCloseComplete: "CloseComplete",
		MsgCommandComplete: "CommandComplete", MsgCopyBothResponse: "CopyBothResponse", MsgCopyInResponse: "CopyInResponse",
		MsgCopyOutResponse: "CopyOutResponse", MsgDataRow: "DataRow", MsgEmptyQueryResponse: "EmptyQueryResponse", MsgErrorResponse: "ErrorResponse",
		MsgFunctionCallResponse: "FunctionCallResponse", MsgNegotiateProtocol: "NegotiateProtocolVersion", MsgNoData: "NoData",
		MsgNoticeResponse: "NoticeResponse", MsgNotification: "NotificationResponse", MsgParameterDescription: "ParameterDescription",
		MsgParameterStatus: "ParameterStatus", MsgParseComplete: "ParseComplete", MsgPortalSuspended: "PortalSuspended",
		MsgReadyForQuery: "ReadyForQuery", MsgRowDescription: "RowDescription", MsgCopyData: "CopyData", MsgCopyDone: "CopyDone",
	}
)
