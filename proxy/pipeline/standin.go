package pipeline

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/pipeline/names"
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// A text that a client parses again and again as its unnamed statement is parsed once, as a
// statement of ours. When it comes again, the server gets an empty text in its place, and what the
// client does with its unnamed statement is done with ours.
//
// Which of our statements the server has is certain up to the next Execute, which may take them
// away, and wherever all is still. Elsewhere the true text is parsed just before the message, as
// another statement of ours: both run, or the server skips both.
//
// Whether the client still has its unnamed statement, or a Query, a Close or a Parse that failed
// has taken it away, the server knows: the empty statement goes as the true one would. So what
// comes after the next Sync or Execute asks for the empty one first; if it is not there, that gives
// the error which the client would have got. The proxy has to know only whether a Parse has put
// another statement in its place.

// standIn is the client's unnamed statement where the server has an empty one instead, or none.
type standIn struct {
	id    string          // seenText.id
	plan  statements.Plan // of the client's text
	types []byte          // the end of its Parse
	// run is how a statement of ours runs it.
	run statements.Repeated
	// parses are the outcomes of those Parses of the unnamed statement sent since then that were
	// the first behind a Sync, but for those known to be undone. If such a one fails, the server
	// skips those that follow it. The stand-in ends with the first that is done.
	parses []*requests.Outcome
	// parsed says that one was sent since the last Sync: whatever follows it finds another statement, or is skipped.
	parsed bool
}

// maxRepeated bounds the text of a Parse for which a statement is prepared, with the types of its
// parameters, in bytes: so much of it a session may keep.
const maxRepeated = 4 << 10

// repeatedID stands for the text of a Parse, as the session reads it now, with the types of its parameters.
func (f *ClientFlow) repeatedID(run statements.Repeated, types []byte) string {
	now := f.reads()
	h := sha256.New()
	extra := strconv.AppendBool(nil, run.Extra != "")
	for _, part := range [][]byte{types, []byte(now.TextEncoding()), strconv.AppendBool(nil, now.EscapeStrings), extra, []byte(run.Text)} {
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		_, _ = h.Write(part)
	}
	return string(h.Sum(nil))
}

// repeatParse is called for the Parse of an unnamed statement before it is noted. Where the same
// text has come before, it returns what takes its place: the Parse of an empty text, whose
// ParseComplete the client gets. A statement of ours is prepared from the true text before it,
// once. a are the details of the Parse.
func (f *ClientFlow) repeatParse(from statements.Plan, text, types []byte, a *details) (replacement []byte) {
	able, ok := from.(statements.Preparable)
	if !ok || !wellFormed(types) || len(text)+len(types) > maxRepeated || !f.prepares() || !able.Repeatable() {
		return nil
	}
	run := able.Repeated()
	id := f.repeatedID(run, types)
	known := f.prepared.look(id)
	if known == nil {
		return nil
	}
	ours := &details{plan: run, prepared: true, trace: a.trace}
	var out []byte
	if known.slot < 0 { // where the text is wrong, the Parse leaves no unnamed statement
		out = wire.AppendFrame(out, wire.MsgClose, []byte("S\x00"))
		f.pushHidden(requests.Close, ours)
		out = f.prepare(out, known, types, ours)
	}
	f.prepared.near = f.preparedName(known.slot)
	f.prepared.standIn = &standIn{id: id, plan: from, types: bytes.Clone(types), run: run}
	a.prepared = true
	return wire.AppendFrame(out, wire.MsgParse, []byte{0, 0, 0, 0})
}

// wellFormed reports whether types can be the end of a Parse.
func wellFormed(types []byte) bool {
	return len(types) >= 2 && len(types) == 2+4*int(binary.BigEndian.Uint16(types))
}

// parsesUnnamed is called for each other Parse of the unnamed statement before it is noted, with its details.
func (f *ClientFlow) parsesUnnamed(a *details) {
	f.prepared.near = nil
	s := f.prepared.standIn
	if s == nil || s.parsed {
		return
	}
	if s.settle() == requests.Done {
		f.prepared.standIn = nil
		return
	}
	a.unnamed = requests.NewOutcome()
	s.parses, s.parsed = append(s.parses, a.unnamed), true
}

// settle drops from parses those that are undone, and returns the state of the first that is left;
// requests.Undone for none. By the next call it may be another.
func (s *standIn) settle() requests.State {
	for len(s.parses) > 0 {
		if state := s.parses[0].Is(); state != requests.Undone {
			return state
		}
		s.parses = s.parses[1:]
	}
	return requests.Undone
}

// awaitsUnnamed returns the outcome that must be known before the message, or the head of it, can
// be looked at: it uses the unnamed statement, and it is not known whether there is a stand-in for
// it.
func (f *ClientFlow) awaitsUnnamed(frame []byte) (wait *requests.Outcome, err error) {
	s := f.prepared.standIn
	if s == nil || s.parsed || f.prepared.near != nil || !usesUnnamed(frame) {
		return nil, nil
	}
	switch s.settle() {
	case requests.Pending: // since a Sync was sent, its reply will come
		return s.parses[len(s.parses)-1], nil
	case requests.Unclear:
		return nil, names.ErrUnclear
	case requests.Done:
		f.prepared.standIn = nil
	}
	return nil, nil
}

// usesUnnamed reports whether a message, or the head of it, may use the unnamed statement.
func usesUnnamed(frame []byte) bool {
	body := frame[wire.HeaderSize:]
	switch frame[0] {
	case wire.MsgBind:
		return bindsUnnamed(frame)
	case wire.MsgDescribe:
		return describesUnnamed(body)
	}
	return false
}

// bindsUnnamed reports whether a Bind, or the head of it, may bind the unnamed statement. In a
// whole one that has no end of the statement's name the server finds the fault before it looks for
// the statement.
func bindsUnnamed(frame []byte) bool {
	_, statement, _, ok := wire.BindNames(frame[wire.HeaderSize:])
	size, _ := wire.FrameLen(frame)
	return ok && len(statement) == 0 || !ok && len(frame) < size
}

// describesUnnamed reports whether the body is that of a Describe of the unnamed statement. One
// that is malformed the server refuses.
func describesUnnamed(body []byte) bool { return string(body) == "S\x00" }

// useUnnamed is called before a message that uses the unnamed statement is noted. It returns what
// is to be sent before it, and the name of the statement of ours that it is to use, with its end;
// nil for the unnamed one. a are the message's details, bind says whether it is a Bind, and fits
// whether another name can be put into it.
func (f *ClientFlow) useUnnamed(a *details, bind, fits bool) (before, ours []byte) {
	s := f.prepared.standIn
	if s == nil || s.parsed {
		return nil, nil
	}
	still := f.still()
	alone := (still || f.unsent.clean) && !f.before.block && !f.before.failed
	if ours = f.prepared.near; ours == nil || !fits {
		known := still && f.knowsPrepared()
		before = f.asksUnnamed(bind && !f.before.failed)
		if known {
			ours = f.nameOf(s.id)
		}
		if ours == nil || !fits {
			before, ours = f.parseTrue(before, fits)
			alone = false
		}
	}
	if ours != nil && alone {
		f.keepFrom(a)
	}
	if ours != nil {
		a.plan, a.prepared, a.own = s.plan, true, string(ours[:len(ours)-1])
		if !f.isTrue(ours) {
			a.plan, a.extra = s.run, s.run.Extra != ""
		}
	}
	return before, ours
}

// isTrue reports whether a statement of ours is that of parseTrue.
func (f *ClientFlow) isTrue(name []byte) bool { return string(name) == f.ownName()+trueSuffix }

// trueSuffix is what the name of the statement of parseTrue ends with.
const trueSuffix = "_u\x00"

// parseTrue appends the messages that parse the client's true text, and notes them: as a statement
// of ours that is near, which it returns with the name's end, or, if that is not wanted, as the
// unnamed one. If that fails, the empty statement is still there.
func (f *ClientFlow) parseTrue(out []byte, named bool) (before, ours []byte) {
	s, parse := f.prepared.standIn, &details{plan: f.prepared.standIn.plan}
	name := []byte{0}
	if named {
		ours = []byte(f.ownName() + trueSuffix)
		name, f.prepared.near = ours, ours
		f.ours.add()
		out = wire.AppendFrame(out, wire.MsgClose, []byte("S"), ours)
		f.pushHidden(requests.Close, parse)
	} else {
		f.parsesUnnamed(parse)
	}
	f.pushHidden(requests.Parse, parse)
	return wire.AppendFrame(out, wire.MsgParse, name, []byte(s.plan.SQL()), []byte{0}, s.types), ours
}

// asksUnnamed returns messages that fail where the server has no unnamed statement, and notes them.
// In a failed transaction a Bind fails always; but of a Bind and a Describe the errors differ in
// the place in the server's source.
func (f *ClientFlow) asksUnnamed(bind bool) (messages []byte) {
	ours := &details{Use: names.Use{Statement: "", Portal: f.ownName(), OfPortal: bind}}
	if !bind {
		f.pushHidden(requests.Describe, ours)
		return wire.AppendFrame(nil, wire.MsgDescribe, []byte("S\x00"))
	}
	name := []byte(f.ownName() + "\x00")
	f.pushHidden(requests.Bind, ours)
	messages = wire.AppendFrame(nil, wire.MsgBind, name, []byte{0, 0, 0, 0, 0, 0, 0})
	f.pushHidden(requests.Close, ours)
	return wire.AppendFrame(messages, wire.MsgClose, []byte("P"), name)
}

// maxRenamed is the size up to which another name is put into a Bind; of the size of a message the server has a bound.
const maxRenamed = 1 << 29

// bindUnnamed returns what takes the place of a Bind, or of the head of one, that may bind the
// unnamed statement; nil for itself. a are its details.
func (f *ClientFlow) bindUnnamed(frame []byte, a *details) (replacement []byte) {
	if !bindsUnnamed(frame) {
		return nil
	}
	size, _ := wire.FrameLen(frame)
	portal, _, rest, ok := wire.BindNames(frame[wire.HeaderSize:])
	s := f.prepared.standIn
	fits := ok && size <= maxRenamed
	extended := rest
	if fits && s != nil && s.run.Extra != "" && (f.prepared.near == nil || !f.isTrue(f.prepared.near)) {
		fits = false
		if isWhole(frame) {
			extended, fits = wire.WithParameter(rest, s.run.Parameters, s.run.Extra)
		}
	}
	before, ours := f.useUnnamed(a, true, fits)
	switch {
	case ours != nil:
		if a.extra {
			size += len(extended) - len(rest)
			rest = extended
		}
		out := append(before, wire.MsgBind)
		out = binary.BigEndian.AppendUint32(out, uint32(size-1+len(ours)-1))
		return append(append(append(append(out, portal...), 0), ours...), rest...)
	case before != nil:
		return append(before, frame...)
	}
	return nil
}

// describeUnnamed is bindUnnamed for a Describe with that body.
func (f *ClientFlow) describeUnnamed(body []byte, a *details) (replacement []byte) {
	if !describesUnnamed(body) {
		return nil
	}
	before, ours := f.useUnnamed(a, false, true)
	if ours == nil && before == nil {
		return nil
	}
	if ours == nil {
		ours = []byte{0}
	}
	return wire.AppendFrame(before, wire.MsgDescribe, []byte("S"), ours)
}

// asUnnamed takes the name of a statement of ours, which the client has not used, out of a report.
func (d *details) asUnnamed(r *pgproto3.ErrorResponse) (changed bool) {
	if d.own == "" || !strings.Contains(r.Message, d.own) {
		return false
	}
	r.Message = strings.ReplaceAll(r.Message, d.own, "")
	return true
}
