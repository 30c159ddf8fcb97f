package requests

import "mbusproxy/proxy/wire"

// Kind is the message of the client that a request is.
type Kind uint8

// The kinds are named after the messages.
const (
	Query Kind = iota + 1
	FunctionCall
	Parse
	Bind
	Describe
	Execute
	Close
	Sync
	// CopyEnd is a CopyDone or CopyFail. The server does not reply to it; it tells which of the requests
	// behind a COPY FROM STDIN the server has read as part of it.
	CopyEnd
)

// KindOf returns the kind of request that a message of the client is; 0: none.
func KindOf(typ byte) Kind {
	switch typ {
	case wire.MsgQuery:
		return Query
	case wire.MsgFunctionCall:
		return FunctionCall
	case wire.MsgParse:
		return Parse
	case wire.MsgBind:
		return Bind
	case wire.MsgDescribe:
		return Describe
	case wire.MsgExecute:
		return Execute
	case wire.MsgClose:
		return Close
	case wire.MsgSync:
		return Sync
	default:
		return 0
	}
}

func (k Kind) String() string {
	switch k {
	case Query:
		return "Query"
	case FunctionCall:
		return "FunctionCall"
	case Parse:
		return "Parse"
	case Bind:
		return "Bind"
	case Describe:
		return "Describe"
	case Execute:
		return "Execute"
	case Close:
		return "Close"
	case Sync:
		return "Sync"
	case CopyEnd:
		return "end of COPY"
	default:
		return "none"
	}
}

// Extended reports whether the server, after an error in reply to the request, skips all up to the next Sync.
func (k Kind) Extended() bool { return k >= Parse && k <= Close }

// Flushes reports whether the server sends what it has to say at the end of its reply to k.
func (k Kind) Flushes() bool { return k == Query || k == FunctionCall || k == Sync }

// Accepts reports whether a message of type typ can be (part of) the reply to k.
func (k Kind) Accepts(typ byte) bool {
	switch k {
	case Query:
		switch typ {
		case wire.MsgRowDescription, wire.MsgDataRow, wire.MsgCommandComplete, wire.MsgEmptyQueryResponse,
			wire.MsgCopyInResponse, wire.MsgCopyOutResponse, wire.MsgCopyBothResponse, wire.MsgCopyData, wire.MsgCopyDone,
			wire.MsgErrorResponse, wire.MsgReadyForQuery:
			return true
		}
		return false
	case FunctionCall:
		return typ == wire.MsgFunctionCallResponse || typ == wire.MsgErrorResponse || typ == wire.MsgReadyForQuery
	case Parse:
		return typ == wire.MsgParseComplete || typ == wire.MsgErrorResponse
	case Bind:
		return typ == wire.MsgBindComplete || typ == wire.MsgErrorResponse
	case Describe:
		return typ == wire.MsgParameterDescription || typ == wire.MsgRowDescription || typ == wire.MsgNoData ||
			typ == wire.MsgErrorResponse
	case Execute:
		switch typ {
		case wire.MsgDataRow, wire.MsgCommandComplete, wire.MsgEmptyQueryResponse, wire.MsgPortalSuspended,
			wire.MsgCopyInResponse, wire.MsgCopyOutResponse, wire.MsgCopyBothResponse, wire.MsgCopyData, wire.MsgCopyDone,
			wire.MsgErrorResponse:
			return true
		}
		return false
	case Close:
		return typ == wire.MsgCloseComplete || typ == wire.MsgErrorResponse
	case Sync:
		return typ == wire.MsgReadyForQuery || typ == wire.MsgErrorResponse
	default:
		return false
	}
}

// Completes reports whether a reply of type typ says that its request has run.
func Completes(typ byte) bool {
	switch typ {
	case wire.MsgParseComplete, wire.MsgBindComplete, wire.MsgCloseComplete, wire.MsgCommandComplete, wire.MsgEmptyQueryResponse:
		return true
	}
	return false
}
