package pipeline

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/pipeline/names"
	"mbusproxy/proxy/pipeline/refuse"
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// A text that a client sends again and again as a Query is run by a statement that the proxy
// prepares in the session: what takes the Query's place is Bind, Describe, Execute and Sync. To the
// client all is as with a Query: it gets the same replies, and its unnamed statement and portal are
// gone. It is done only where nothing is outstanding, so that it is certain which statements the
// server has; and only where the server is one process for the whole session, which a pooler's is
// not.

// maxPrepared is how many statements the proxy has prepared in a session at a time, and of how many
// texts it remembers that they have been seen once.
const maxPrepared = 16

// prepared is what a ClientFlow keeps of the statements that it has prepared in the session.
type prepared struct {
	off        bool   // nothing is prepared in this session
	process    string // the process that the server has named at startup
	ask, asked bool   // a probe query for the process is wanted; the one under way is that
	certain    bool   // the server is that process itself
	probe      string // the probe query of a wait for which a statement is prepared; "" for none
	// seen are the texts seen last, the latest at the end.
	seen    []seenText
	standIn *standIn // nil: what the client takes for its unnamed statement is that
	// near is the name, with its end, of the statement of ours that the client's unnamed one means
	// up to the next Execute or Sync; nil for none.
	near []byte
}

// newPrepared gets the session's cancel key, which begins with the number of the server's process.
func newPrepared(key wire.CancelKey) prepared {
	if len(key) < 4 {
		return prepared{off: true}
	}
	return prepared{process: strconv.FormatUint(uint64(binary.BigEndian.Uint32([]byte(key[:4]))), 10)}
}

type seenText struct {
	// id is PreparedPlan.ID for the text of a Query, else repeatedID.
	id string
	// slot is the number of its statement; -1 for none.
	slot int
}

// preparedNames is what both directions know of the statements that the proxy has prepared.
type preparedNames struct {
	some atomic.Bool   // set for good by the first
	made atomic.Uint32 // how many there have been
	// gone is set when they may not be there any more. The direction server to client sets it
	// before the client can know, so that a Query sent after that finds it.
	gone atomic.Bool
	// lost is set for good when one was not there: something takes them away unseen.
	lost   atomic.Bool
	resend resend
}

// processProbe is the probe query for the server's process.
const processProbe = "select pg_catalog.pg_backend_pid()"

// asksProcess reports whether processProbe is to be sent before the message.
func (f *ClientFlow) asksProcess(frame []byte) bool {
	return f.prepared.ask && f.quiet() && f.forRewriter(frame)
}

// probeProcess returns the messages of processProbe.
func (f *ClientFlow) probeProcess(frame []byte) (messages []byte) {
	f.prepared.asked = true
	if frame[0] == wire.MsgQuery {
		return f.pose(processProbe, asQuery)
	}
	return f.pose(processProbe, withSync)
}

// takeProcess takes the answer to processProbe. If that has failed, it is dealt with as any other probe query.
func (f *ClientFlow) takeProcess() {
	p := &f.prepared
	if !p.asked {
		return
	}
	p.asked = false
	if f.probing.answered.Is() != requests.Done {
		return
	}
	p.ask = false
	p.certain = f.probing.answered.answer == p.process
	p.off = !p.certain
	f.probing.answered = nil
}

// quiet reports that the server has replied to all that it was sent, and is ready for a statement.
func (f *ClientFlow) quiet() bool { return f.still() && !f.before.failed }

// still reports the same also where the transaction has failed.
func (f *ClientFlow) still() bool {
	return f.before.Outstanding+len(f.requests) == 0 && !f.before.copies && !f.probing.unsynced && !f.probing.copied
}

// runPrepared notes a Query that is run by a prepared statement, and returns what takes its place; nil where it is not.
func (f *ClientFlow) runPrepared(from statements.Plan) []byte {
	able, ok := from.(statements.Preparable)
	if !ok || !f.prepares() {
		return nil
	}
	plan := able.Prepared()
	if plan == nil {
		return nil
	}
	known := f.prepared.look(plan.ID())
	if known == nil {
		return nil
	}
	ours := &details{plan: plan, prepared: true, trace: traceQuery(from)}
	if !f.before.block {
		ours.again, ours.plain = true, from
		f.arm(true)
	}
	out := f.prepare(f.closeUnnamed(ours), known, noTypes, ours)
	return f.runAsQuery(out, f.preparedName(known.slot), wire.TextValues(plan.Values()), ours)
}

// closeUnnamed returns the message with which what takes the place of a Query begins, and notes it:
// a Query leaves neither an unnamed statement nor an unnamed portal, also where it fails.
func (f *ClientFlow) closeUnnamed(ours *details) []byte {
	f.portal.queried(false)
	f.pushHidden(requests.Close, ours)
	return wire.AppendFrame(nil, wire.MsgClose, []byte("S\x00"))
}

// runAsQuery appends the messages that run a statement of ours with that name, which has its end,
// in the place of a Query, and notes them. values are the end of the Bind, ours their details. What
// closeUnnamed returns comes first.
func (f *ClientFlow) runAsQuery(out, name, values []byte, ours *details) []byte {
	out = wire.AppendFrame(out, wire.MsgBind, []byte{0}, name, values)
	f.pushHidden(requests.Bind, ours)
	out = wire.AppendFrame(out, wire.MsgDescribe, []byte("P\x00"))
	f.push(requests.Describe, ours)
	out = wire.AppendFrame(out, wire.MsgExecute, []byte{0, 0, 0, 0, 0})
	f.push(requests.Execute, ours)
	out = wire.AppendFrame(out, wire.MsgClose, []byte("P\x00"))
	f.pushHidden(requests.Close, ours)
	if ours.asQuery { // the statement is for this once
		out = wire.AppendFrame(out, wire.MsgClose, []byte("S"), name)
		f.pushHidden(requests.Close, ours)
	}
	out = wire.AppendFrame(out, wire.MsgSync)
	f.push(requests.Sync, ours)
	return out
}

// prepares reports whether statements may be prepared and used now.
func (f *ClientFlow) prepares() bool { return f.quiet() && f.knowsPrepared() }

// knowsPrepared reports, where all is still, whether it is known which statements of ours the server has.
func (f *ClientFlow) knowsPrepared() bool {
	if f.prepared.off || f.ours.lost.Load() {
		return false
	}
	if f.ours.gone.Swap(false) {
		f.prepared.forget()
	}
	return true
}

// prepare appends the messages that prepare the statement of a text, unless it has been, and notes
// them; ours are their details, with its plan.
func (f *ClientFlow) prepare(out []byte, known *seenText, types []byte, ours *details) []byte {
	if known.slot >= 0 {
		return out
	}
	known.slot = f.prepared.free()
	name := f.preparedName(known.slot)
	out = f.parseHidden(out, name, ours.plan.SQL(), types, ours)
	f.ours.add()
	return out
}

func (f *ClientFlow) preparedName(slot int) []byte {
	return []byte(f.ownName() + "_" + strconv.Itoa(slot) + "\x00")
}

// look returns what is known of a text for which a statement is to be used. One that was not seen
// before it notes, and returns nil. So it does while it is not known whether the server is a
// pooler.
func (p *prepared) look(id string) *seenText {
	i := slices.IndexFunc(p.seen, func(s seenText) bool { return s.id == id })
	if i < 0 {
		if len(p.seen) == maxPrepared {
			p.seen = slices.Delete(p.seen, 0, 1)
		}
		p.seen = append(p.seen, seenText{id, -1})
		return nil
	}
	s := p.seen[i]
	p.seen = append(slices.Delete(p.seen, i, i+1), s)
	if !p.certain {
		p.ask = true
		return nil
	}
	return &p.seen[len(p.seen)-1]
}

// nameOf returns the name of the statement of a text; nil for none.
func (f *ClientFlow) nameOf(id string) []byte {
	if i := slices.IndexFunc(f.prepared.seen, func(s seenText) bool { return s.id == id }); i >= 0 && f.prepared.seen[i].slot >= 0 {
		return f.preparedName(f.prepared.seen[i].slot)
	}
	return nil
}

// free returns a slot that no text has. What an older statement may have left there is closed before it is used.
func (p *prepared) free() int {
	for slot := 0; ; slot++ {
		if !slices.ContainsFunc(p.seen, func(s seenText) bool { return s.slot == slot }) {
			return slot
		}
	}
}

// forget is called when the statements may not be there any more.
func (p *prepared) forget() {
	p.probe = ""
	for i := range p.seen {
		p.seen[i].slot = -1
	}
}

// forgetPrepared is called before a message whose text may take statements of ours away: by their
// names, or in a DO block.
func (f *ClientFlow) forgetPrepared(text []byte) {
	if f.ours.some.Load() && (f.rewriter.MayDeallocate(text) || bytes.Contains(text, []byte(f.private))) {
		f.prepared.forget()
	}
}

// preparedFailed takes note of the ErrorResponse to h, by which statements of ours may be gone.
// hide says that the client does not get it, for what the client sent is sent again; if it says
// that one was not there, replacement is what the client gets, else nil.
func (f *serverFlow) preparedFailed(frame []byte, h *request) (replacement []byte, hide bool) {
	if h == nil || h.details == nil || !h.details.prepared || !usesStatement(h) {
		return nil, false
	}
	var rep pgproto3.ErrorResponse
	if rep.Decode(frame[wire.HeaderSize:]) != nil {
		return nil, false
	}
	// One whose columns would be others now has to be prepared anew. Whatever else may change, the
	// server sees to by itself.
	gone := rep.Code == refuse.CodeNoStatement || rep.Code == refuse.CodeFeatureNotSupported
	if h.kind == requests.Parse || gone {
		f.ours.gone.Store(true)
	}
	if h.kind == requests.Parse || !gone {
		return nil, false
	}
	lost := rep.Code == refuse.CodeNoStatement
	if lost {
		f.ours.lost.Store(true)
	}
	if p := h.details.lost; p != nil && len(f.more) == 0 && rep.SeverityUnlocalized == "ERROR" {
		p.lost, p.skips = true, true
		return nil, true
	}
	if f.failsUnseen(&rep, h) {
		return nil, true
	}
	if !lost {
		return nil, false
	}
	before := rep
	refuse.Deallocated().EditReport(&rep, 0)
	return wire.EncodeReport(frame, &before, &rep), false
}

// usesStatement reports whether a request is about a prepared statement.
func usesStatement(h *request) bool {
	return h.kind == requests.Parse || h.kind == requests.Bind || h.kind == requests.Describe && h.details.own != ""
}

// add notes one more.
func (p *preparedNames) add() {
	p.some.Store(true)
	p.made.Add(1)
}

// completed takes note of a CommandComplete with that tag.
func (p *preparedNames) completed(tag string) {
	if tag == names.TagDiscardAll || tag == names.TagDeallocateAll {
		p.gone.Store(true)
	}
}
