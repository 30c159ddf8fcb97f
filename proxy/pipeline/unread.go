package pipeline

import (
	"bytes"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/pipeline/names"
	"mbusproxy/proxy/pipeline/refuse"
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// unread is a Query or Parse that passes without being read, because it is too long or there is no memory to buffer
// it. While it passes the Rewriter looks for words of statements that may bind names.
type unread struct {
	found bool   // the Rewriter has found one
	tail  []byte // the end of what has passed, for a word that is cut
	// statement is what is remembered of the text of a Parse; nil for a Query.
	statement *names.Text
	rewriter  statements.Rewriter
}

// Saw looks at a part of the text.
func (u *unread) Saw(b []byte) {
	if u.found {
		return
	}
	across := append(u.tail, b[:min(len(b), statements.EffectWordSize-1)]...)
	u.found = u.rewriter.MayHaveEffects(across) || u.rewriter.MayHaveEffects(b)
	if len(b) >= statements.EffectWordSize {
		u.tail = append(u.tail[:0], b[len(b)-statements.EffectWordSize+1:]...)
	} else {
		u.tail = bytes.Clone(across[max(0, len(across)-statements.EffectWordSize+1):])
	}
}

// pass lets a message go by of which frame is the head.
func (f *ClientFlow) pass(frame []byte, statement *names.Text) {
	f.prepared.forget()
	f.prepared.near = nil
	if f.bindTime == nil {
		return
	}
	f.unread = &unread{statement: statement, rewriter: f.rewriter}
	f.Watch = f.unread
	f.unread.Saw(frame[wire.HeaderSize:])
}

// readOn is called when the whole message has passed.
func (f *ClientFlow) readOn() {
	u := f.unread
	f.unread, f.Watch = nil, nil
	switch {
	case !u.found:
	case u.statement != nil:
		u.statement.Renames = true
	default:
		f.names.RebindAny()
	}
}

// longQuery notes a Query whose text is not read.
func (f *ClientFlow) longQuery(frame []byte) {
	f.push(requests.Query, &details{Use: names.Use{Text: &names.Text{Unread: true}}, unread: true})
	f.pass(frame, nil)
}

// longParse notes a Parse whose text is not read.
func (f *ClientFlow) longParse(frame []byte) {
	a := &details{Use: names.Use{Text: &names.Text{Unread: true}}, unread: true}
	name, _, ok := wire.CString(frame[wire.HeaderSize:])
	var statement *names.Text
	if ok {
		if a.Statement = names.Key(name); a.Statement == "" {
			f.parsesUnnamed(a)
		}
		if f.bindTime != nil && f.names.RoomForStatement(a.Statement, a.Text) {
			a.Bindings = f.names.Note(&names.Binding{Name: a.Statement, Segment: f.bindTime.segment, Text: a.Text})
			statement = a.Text
		}
	}
	f.push(requests.Parse, a)
	f.pass(frame, statement)
}

// SQLSTATEs of what the server does not find.
const (
	codeUndefinedFunction = "42883"
	codeUndefinedSchema   = "3F000"
	codeUndefinedTable    = "42P01"
)

// explainUnread edits a report about a text that was not read, if the server misses what the Rewriter would have
// served.
func (f *serverFlow) explainUnread(r *pgproto3.ErrorResponse) bool {
	switch r.Code {
	case codeUndefinedFunction, codeUndefinedSchema, codeUndefinedTable:
	default:
		return false
	}
	if !f.rewriter.Mentions([]byte(r.Message)) {
		return false
	}
	refuse.Unread(r)
	return true
}

// mustCut reports whether the message being buffered is to be forwarded unread, because there is no memory for it.
func (f *ClientFlow) mustCut() bool {
	n, need := f.Buffered()
	if n == 0 || n <= wire.MaxNames && !f.buffered.Revoked() || need <= wire.MaxNames || f.buffered.Grow(n) {
		return false
	}
	f.short = true
	return true
}
