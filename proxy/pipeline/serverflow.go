package pipeline

import (
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// serverFlow walks over the bytes that come from the server: it follows the replies, edits
// reports, and keeps what a session must know of its server. It belongs to the direction
// server to client and does no input or output.
type serverFlow struct {
	rewriter statements.Rewriter // nil: no report is ever edited
	secret   string              // statements.Context.Secret
	database string
	Settings *atomic.Pointer[wire.Settings]

	wire.Framer
	tracker
	// err is set by Wants when a reply is impossible.
	err error
	// latest is the type of the last message.
	latest byte
}

// EndedSilently reports, at the end of what the server sends, whether it has not said why it ends. A notice counts: of
// the crash of another backend the server tells with a warning.
func (f *serverFlow) EndedSilently() bool {
	return f.AtBoundary() && f.latest != wire.MsgErrorResponse && f.latest != wire.MsgNoticeResponse
}

// ServerEnded ends the transaction that was open when the server's session ended, which has rolled it back by then.
func (f *serverFlow) ServerEnded() { f.signal() }

// Release gives back, at the end of the session, the memory in which texts are remembered. A server
// that has not been heard to end is about to end its transaction.
func (f *serverFlow) Release() {
	f.signal()
	f.names.Release()
}

// Feed takes a batch, whose head was prefilled, and leaves what is to be written to the client in
// out. The requests that the server replies to here must be queued before. With an error
// out holds what came before the message that caused it.
func (f *serverFlow) Feed(buf []byte, out *wire.Splicer) error {
	out.Begin(buf)
	pos := 0
	for pos < len(buf) {
		frame, at, err := f.Next(buf, pos, out, f)
		if err == nil {
			err = f.err
		}
		if err != nil {
			out.Truncate(pos)
			return fmt.Errorf("reading server message: %w", err)
		}
		pos = at
		if frame == nil {
			continue
		}
		repl, hide, err := f.inspect(frame)
		if err != nil {
			out.Truncate(pos - len(frame))
			return fmt.Errorf("reading server message: %w", err)
		}
		if repl != nil || hide {
			f.Replace(out, frame, pos, repl)
		} else {
			f.Keep(out, frame, pos)
		}
	}
	return nil
}

// Wants says how much of a message must lie in one piece before it goes on. A reply whose body does
// not matter it notes.
func (f *serverFlow) Wants(typ byte, size int) (gather int) {
	f.latest = typ
	switch typ {
	case wire.MsgDataRow, wire.MsgCopyData:
		// The bulk of what servers send: of the queue only the head is looked at, as long as it takes rows.
		if !f.takesRows() {
			if typ == wire.MsgDataRow && f.probed() != nil && size <= statements.MaxAnswer {
				return size
			}
			return f.pass(typ)
		}
		if t := f.traceOf(); t != nil && typ == wire.MsgDataRow && size <= maxTracedRow && t.WantsRows() {
			return size
		}
		return wire.PassRun
	case wire.MsgNotification, wire.MsgBackendKeyData:
		return 0
	case wire.MsgParameterStatus:
		if size <= wire.MaxSmall {
			return size
		}
	case wire.MsgNoticeResponse:
		if f.rewriter != nil && size <= wire.MaxReport {
			return size
		}
	case wire.MsgErrorResponse:
		if f.rewriter != nil && size <= wire.MaxReport {
			return size
		}
		failTrace(f.upcoming(), nil)
		return f.pass(typ)
	case wire.MsgParameterDescription:
		if h := f.head(); h != nil && h.details != nil && h.details.extra {
			return size
		}
		return f.pass(typ)
	case wire.MsgReadyForQuery:
		if size != wire.HeaderSize+1 {
			f.err = wire.ErrFraming
			return 0
		}
		return size
	case wire.MsgCommandComplete:
		if size <= wire.MaxSmall && (f.wantsTag() || endsPrepared(size)) {
			return size
		}
		return f.pass(typ)
	default:
		return f.pass(typ)
	}
	return 0
}

// The command tags with which a transaction ends that PREPARE TRANSACTION has set aside.
const (
	commitPrepared   = "COMMIT PREPARED"
	rollbackPrepared = "ROLLBACK PREPARED"
)

// endsPrepared reports whether a CommandComplete of that size may be that of such an end.
func endsPrepared(size int) bool {
	size -= wire.HeaderSize + 1
	return size == len(commitPrepared) || size == len(rollbackPrepared)
}

// pass notes a reply whose body does not matter; the result is that of Wants.
func (f *serverFlow) pass(typ byte) (gather int) {
	if f.err != nil {
		return 0 // Feed is about to return it
	}
	hide, err := f.answer(typ, "")
	f.err = err
	if hide {
		return wire.Drop
	}
	return 0
}

// inspect looks at a message that lies in one piece and returns its replacement, or nil. hide says
// that it does not go to the client at all.
func (f *serverFlow) inspect(frame []byte) (replacement []byte, hide bool, err error) {
	body := frame[wire.HeaderSize:]
	switch frame[0] {
	case wire.MsgReadyForQuery:
		hide, err = f.answer(wire.MsgReadyForQuery, txnStatus(body[0]))
		hide = f.readyToResend() || hide
	case wire.MsgCommandComplete:
		promised := ""
		if h := f.head(); h != nil && h.details != nil {
			promised = h.details.tag
		}
		tag, _, _ := wire.CString(body)
		hide, err = f.answer(wire.MsgCommandComplete, string(tag))
		if all, ok := f.rewriter.(statements.PreparedTransactions); ok && (string(tag) == commitPrepared || string(tag) == rollbackPrepared) {
			all.AfterPrepared(f.database)
		}
		if promised != "" && !hide {
			replacement = wire.AppendFrame(nil, wire.MsgCommandComplete, []byte(promised), []byte{0})
		}
	case wire.MsgDataRow:
		p := f.probed()
		if p == nil {
			f.traceOf().Row(body)
			break
		}
		p.answer, p.began = readAnswer(body), f.began
		hide, err = f.answer(wire.MsgDataRow, "")
	case wire.MsgParameterDescription:
		replacement = wire.WithoutLastParameter(frame)
		hide, err = f.answer(wire.MsgParameterDescription, "")
	case wire.MsgParameterStatus:
		f.Settings.Store(f.Settings.Load().With(body))
	case wire.MsgNoticeResponse:
		replacement = f.edit(frame, f.upcoming())
	case wire.MsgErrorResponse:
		h := f.upcoming()
		if replacement, hide = f.preparedFailed(frame, h); hide {
			_, err = f.answer(wire.MsgErrorResponse, "")
			break
		}
		if replacement == nil {
			replacement = f.edit(frame, h)
		}
		if h != nil && h.details != nil {
			replacement, hide = h.details.failed(frame, replacement, h.kind)
		}
		if final := replacement; !hide {
			if final == nil {
				final = frame
			}
			failTrace(h, final)
		}
		_, err = f.answer(wire.MsgErrorResponse, "")
	}
	return replacement, hide, err
}

// txnStatus is string(status) without allocating.
func txnStatus(status byte) string {
	switch status {
	case 'I':
		return "I"
	case 'T':
		return "T"
	default:
		return "E"
	}
}

// edit shows a report in reply to h to its plan, or to the Rewriter where it has none, and returns
// its new form, or nil when it stays.
func (f *serverFlow) edit(frame []byte, h *request) []byte {
	plan, forgotten := f.planOf(h)
	var rep pgproto3.ErrorResponse
	if rep.Decode(frame[wire.HeaderSize:]) != nil {
		return nil // it goes on as it came
	}
	before := rep
	changed := h != nil && h.details != nil && h.details.asUnnamed(&rep)
	if plan != nil {
		changed = plan.EditReport(&rep, f.main.done) || changed
	} else {
		changed = f.rewriter.EditReport(f.secret, &rep) || changed
	}
	if forgotten && rep.Position != 0 {
		rep.Position, changed = 0, true // it may be one in a text the client has never seen
	}
	if h != nil && h.details != nil && h.details.unread && f.explainUnread(&rep) {
		changed = true
	}
	if !changed {
		return nil
	}
	return wire.EncodeReport(frame, &before, &rep)
}
