package proxy

import (
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgproto3"
)

// serverFlow walks over the bytes that come from the server: it follows the replies, edits
// reports, and keeps what a session must know of its server. It belongs to the direction
// server -> client and does no input or output.
type serverFlow struct {
	rewriter Rewriter // nil: no report is ever edited
	secret   string   // StatementContext.Secret
	settings *atomic.Pointer[settings]

	framer
	tracker
	// err is set by wants when a reply is impossible.
	err error
	// latest is the type of the last message.
	latest byte
}

// endedSilently reports, at the end of what the server sends, that it has not said why.
// A crash of another backend is told with a warning.
func (f *serverFlow) endedSilently() bool {
	return f.atBoundary() && f.latest != msgErrorResponse && f.latest != msgNoticeResponse
}

// release gives back, at the end of the session, what is remembered of prepared texts.
func (f *serverFlow) release() {
	f.names.statements.release()
	f.names.portals.release()
}

// feed takes a batch, whose head was prefilled, and leaves what is to be written to the client in
// out. What the server owes for the messages it answers here must be queued before. With an error
// out holds what came before the message that caused it.
func (f *serverFlow) feed(buf []byte, out *assembly) error {
	out.begin(buf)
	pos := 0
	for pos < len(buf) {
		frame, at, err := f.next(buf, pos, out, f)
		if err == nil {
			err = f.err
		}
		if err != nil {
			out.truncate(pos)
			return fmt.Errorf("reading server message: %w", err)
		}
		pos = at
		if frame == nil {
			continue
		}
		repl, hide, err := f.inspect(frame)
		if err != nil {
			out.truncate(pos - len(frame))
			return fmt.Errorf("reading server message: %w", err)
		}
		if repl != nil || hide {
			f.replace(out, frame, pos, repl)
		} else {
			f.keep(out, frame, pos)
		}
	}
	return nil
}

// wants says how much of a message must lie in one piece before it goes on; what carries nothing
// of interest is noted here.
func (f *serverFlow) wants(typ byte, size int) (gather int) {
	f.latest = typ
	switch typ {
	case msgDataRow, msgCopyData:
		// The bulk of what servers send: no look at the queue while its head takes rows.
		if !f.takesRows() {
			if typ == msgDataRow && f.forQuestion() != nil && size <= maxAnswer {
				return size
			}
			return f.pass(typ)
		}
	case msgNotification, msgBackendKeyData:
		return 0
	case msgParameterStatus:
		if size <= maxSmall {
			return size
		}
	case msgNoticeResponse:
		if f.rewriter != nil && size <= maxReport {
			return size
		}
	case msgErrorResponse:
		if f.rewriter != nil && size <= maxReport {
			return size
		}
		return f.pass(typ)
	case msgReadyForQuery:
		if size != headerSize+1 {
			f.err = errFraming
			return 0
		}
		return size
	case msgCommandComplete:
		if size <= maxSmall && f.wantsTag() {
			return size
		}
		return f.pass(typ)
	default:
		return f.pass(typ)
	}
	return 0
}

// pass notes a reply whose body does not matter; the result is that of wants.
func (f *serverFlow) pass(typ byte) (gather int) {
	if f.err != nil {
		return 0 // found in this batch; feed is about to return it
	}
	hide, err := f.answer(typ, "")
	f.err = err
	if hide {
		return drop
	}
	return 0
}

// inspect looks at a gathered message and returns its replacement or nil, and whether it goes to
// the client at all.
func (f *serverFlow) inspect(frame []byte) (replacement []byte, hide bool, err error) {
	body := frame[headerSize:]
	switch frame[0] {
	case msgReadyForQuery:
		hide, err = f.answer(msgReadyForQuery, txnStatus(body[0]))
	case msgCommandComplete:
		promised := ""
		if h := f.head(); h != nil && h.about != nil {
			promised = h.about.tag
		}
		tag, _, _ := cstring(body)
		hide, err = f.answer(msgCommandComplete, string(tag))
		if promised != "" && !hide {
			replacement = appendFrame(nil, msgCommandComplete, []byte(promised), []byte{0})
		}
	case msgDataRow:
		f.forQuestion().answer = readAnswer(body)
		hide, err = f.answer(msgDataRow, "")
	case msgParameterStatus:
		f.settings.Store(f.settings.Load().with(body))
	case msgNoticeResponse:
		replacement = f.edit(frame, f.upcoming())
	case msgErrorResponse:
		h := f.upcoming()
		replacement = f.edit(frame, h)
		if h != nil && h.about != nil {
			replacement, hide = h.about.failed(frame, replacement, h.kind)
		}
		_, err = f.answer(msgErrorResponse, "")
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

// edit shows a report to the plan of the message being answered, or to the Rewriter when there is
// none, and returns its new form, or nil when it stays.
func (f *serverFlow) edit(frame []byte, h *owed) []byte {
	plan, forgotten := f.names.planOf(h)
	var rep pgproto3.ErrorResponse
	if rep.Decode(frame[headerSize:]) != nil {
		return nil // not ours to judge
	}
	before := rep
	changed := false
	if plan != nil {
		changed = plan.EditReport(&rep)
	} else {
		changed = f.rewriter.EditReport(f.secret, &rep)
	}
	if forgotten && rep.Position != 0 {
		rep.Position, changed = 0, true // it may be one in a text the client has never seen
	}
	if h != nil && h.about != nil && h.about.unread && f.explainUnread(&rep) {
		changed = true
	}
	if !changed {
		return nil
	}
	return encodeReport(frame, &before, &rep)
}
