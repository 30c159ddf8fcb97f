package pipeline

import (
	"bytes"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/wire"
)

// unread is a Query or Parse that passes without being looked at, because it is too long or there is no memory
// to hold it. While it passes the words are looked for that may give a name another meaning.
type unread struct {
	acts bool   // such a word was found
	tail []byte // the end of what passed, for words that lie across
	// statement is the deed of a Parse; nil for a Query.
	statement *deed
}

const longestActWord = len("deallocate")

// Saw takes note of a part of the text.
func (u *unread) Saw(b []byte) {
	if u.acts {
		return
	}
	across := append(u.tail, b[:min(len(b), longestActWord-1)]...)
	u.acts = mayAct(across) || mayAct(b)
	if len(b) >= longestActWord {
		u.tail = append(u.tail[:0], b[len(b)-longestActWord+1:]...)
	} else {
		u.tail = bytes.Clone(across[max(0, len(across)-longestActWord+1):])
	}
}

// pass lets the message go of which frame is the head.
func (f *ClientFlow) pass(frame []byte, statement *deed) {
	if f.late == nil {
		return
	}
	f.unread = &unread{statement: statement}
	f.Watch = f.unread
	f.unread.Saw(frame[wire.HeaderSize:])
}

// readOn is called when nothing more comes of a message that was not looked at.
func (f *ClientFlow) readOn() {
	u := f.unread
	f.unread, f.Watch = nil, nil
	switch {
	case !u.acts:
	case u.statement != nil:
		u.statement.acts = true
	default:
		f.late.cloud()
	}
}

// longQuery notes a Query whose text is not looked at.
func (f *ClientFlow) longQuery(frame []byte) {
	f.push(owedQuery, &about{unread: true, drops: drops{all: true}})
	f.pass(frame, nil)
}

// longParse notes a Parse whose text is not looked at.
func (f *ClientFlow) longParse(frame []byte) {
	a := &about{unread: true, drops: drops{all: true}}
	name, _, ok := wire.CString(frame[wire.HeaderSize:])
	var statement *deed
	if ok {
		a.statement = nameKey(name)
		if f.late != nil && !f.late.crowded(a.statement, nil, []act{{}}) {
			a.deeds = f.late.statements.note(a.statement, f.late.segment, meaning{unread: true})
			statement = a.deeds[0]
		}
	}
	f.push(owedParse, a)
	f.pass(frame, statement)
}

// cloud is called when names may have got another meaning, and which ones is not known. Only SQL does that,
// and it does not reach the unnamed ones.
func (l *lateFlow) cloud() {
	for _, r := range []*register{&l.statements, &l.portals} {
		for name, h := range r.names {
			if name != "" {
				h.underWay, h.last = nil, newDeed(l.segment, "", meaning{clouded: true})
				h.last.settle(deedDone)
			}
		}
	}
}

// SQLSTATEs of what the server does not find.
const (
	codeUndefinedFunction = "42883"
	codeUndefinedSchema   = "3F000"
	codeUndefinedTable    = "42P01"
)

// explainUnread says of a report about a text that was not looked at why the server knows nothing of what the
// Rewriter would have served. The code is that of a limit, for what is missing is not missing in shorter texts.
func (f *serverFlow) explainUnread(r *pgproto3.ErrorResponse) bool {
	switch r.Code {
	case codeUndefinedFunction, codeUndefinedSchema, codeUndefinedTable:
	default:
		return false
	}
	if !f.rewriter.Mentions([]byte(r.Message)) {
		return false
	}
	r.Code = codeProgramLimit
	r.Detail = unreadDetail + " This text was not looked at."
	r.Hint = "Send the call in a statement of its own, large values as parameters, or less at a time."
	return true
}

// mustCut reports that the message being gathered is to be let go.
func (f *ClientFlow) mustCut() bool {
	n, need := f.Buffered()
	if n == 0 || n <= wire.MaxNames && !f.gathered.Revoked() || need <= wire.MaxNames || f.gathered.Grow(n) {
		return false
	}
	f.short = true
	return true
}
