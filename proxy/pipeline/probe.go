package pipeline

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/pipeline/names"
	"mbusproxy/proxy/pipeline/refuse"
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// probing is what a ClientFlow keeps of probe queries.
type probing struct {
	// unsynced says that messages of the extended protocol were sent and no Sync after them, copied
	// that a CopyDone or CopyFail was sent and no Sync after it. If that COPY belongs to an
	// Execute, the server has ignored the Syncs sent during it.
	unsynced, copied bool
	// underWay is the probe query for the message set aside. It becomes answered once its outcome is known, until
	// that message is dealt with.
	underWay, answered *probe
	told               told
	// canceled is set where the client has cancelled the statement during the call of Prober.Probe.
	canceled bool
}

// probe is a probe query that was sent.
type probe struct {
	*requests.Outcome
	// The direction server to client sets these before the outcome.
	answer     string // what the query has returned
	began      bool   // messages since the last Sync had begun a transaction block
	suppressed bool   // it failed, and the client was not told
	failure    []byte // the ErrorResponse of one that had a Sync of its own
	skips      bool   // one for a Query failed, and the server skips all up to a Sync
	lost       bool   // the statement prepared for it was gone, the client was not told, and the server skips all up to a Sync
	// forQuery says that it is for a Query behind messages without a Sync.
	forQuery bool
}

// done is called when the message asked about has been dealt with.
func (p *probing) done() { p.answered, p.told, p.canceled = nil, told{}, false }

// note is called for each message of the client.
func (p *probing) note(kind requests.Kind) {
	switch {
	case kind.Extended():
		p.unsynced = true
	case kind == requests.Sync:
		p.unsynced, p.copied = false, false
	case kind == requests.CopyEnd:
		p.copied = true
	}
}

// awaitAnswer waits for the outcome of the probe query under way, if there is one; false means that the session
// has ended.
func (f *ClientFlow) awaitAnswer(ctx context.Context) bool {
	p := f.probing.underWay
	if p == nil {
		return true
	}
	f.probing.underWay, f.probing.answered = nil, p
	select {
	case <-p.Known():
		f.takeSettings()
		f.takeProcess()
		return true
	case <-ctx.Done():
		return false
	}
}

// sendProbe puts a probe query into out if one is needed for the message that Next returned with
// position pos, and sets the message aside until there is an answer; false means that none is.
//
// The probe query for a Query is a Query, that for a Parse is run by messages of the extended protocol. It runs in the
// transaction in which the message is going to run, if there is one, and its error is the error that the message would
// have had: the transaction has failed, or the client has cancelled.
//
// If nothing precedes a Parse since the last Sync, the probe query has a Sync of its own: without
// it, servers from 18 on run the statement in a transaction block, where some cannot run. If such a
// probe query fails, another statement that fails is sent without a Sync, and the client gets the
// error of the probe query for it: the server then skips what it is to skip. No probe query is sent
// for a Query behind messages without a Sync, for it would end their transaction.
func (f *ClientFlow) sendProbe(ctx context.Context, buf, frame []byte, pos int, out *wire.Splicer) bool {
	var messages []byte
	switch last := f.probing.answered; {
	case last == nil && f.unsure(frame):
		messages = f.probeSettings(frame)
	case last == nil && f.asksProcess(frame):
		messages = f.probeProcess(frame)
	case last == nil:
		messages = f.probeFor(ctx, frame)
	case last.failure != nil:
		messages = f.failAs(last.failure)
	}
	if last := f.probing.answered; last != nil && last.skips {
		at := f.startOf(frame, pos)
		out.Replace(at, at, f.stopSkipping(last))
		return false
	}
	if messages == nil {
		return false
	}
	f.setAside(buf, frame, pos, out, messages)
	return true
}

// startOf is where in the batch what takes the place of a message is to stand.
func (f *ClientFlow) startOf(frame []byte, pos int) int {
	if f.Holds() {
		return 0
	}
	return pos - len(frame)
}

// setAside sets the message aside with all behind it, and puts messages of ours in its place.
func (f *ClientFlow) setAside(buf, frame []byte, pos int, out *wire.Splicer, messages []byte) {
	if at := f.startOf(frame, pos); len(messages) > 0 {
		out.Replace(at, at, messages)
	}
	f.aside = f.SetAside(buf, frame, pos, out)
}

// probeFor returns the messages of the probe query that the Rewriter has for a message; nil for none.
func (f *ClientFlow) probeFor(ctx context.Context, frame []byte) (messages []byte) {
	prober, ok := f.rewriter.(statements.Prober)
	if !ok || !f.forRewriter(frame) {
		return nil
	}
	simple := frame[0] == wire.MsgQuery
	if simple && f.probing.unsynced {
		return nil
	}
	text, _, voids, ok := textOf(frame)
	if !ok {
		return nil // malformed: the server says so
	}
	call, end := f.atHand.Begin(ctx)
	query := prober.Probe(call, f.context(simple, voids), string(text))
	if f.probing.canceled = end(); f.probing.canceled || query == "" {
		return nil
	}
	if simple {
		return f.pose(query, asQuery)
	}
	return f.pose(query, f.probing.forParse())
}

// stopSkipping returns the Sync behind the probe query p that has failed, whose ReadyForQuery is
// that of the client's Query if the client has been told.
func (f *ClientFlow) stopSkipping(p *probe) (messages []byte) {
	f.before.skips = false
	if p.suppressed {
		f.pushHidden(requests.Sync, nil)
	} else {
		f.push(requests.Sync, nil)
	}
	return wire.AppendFrame(nil, wire.MsgSync)
}

// posing is the way in which a probe query is sent.
type posing int

const (
	asQuery    posing = iota
	unsynced          // by messages of the extended protocol, among others of the client's
	withSync          // the same with a Sync of its own
	behindOpen        // the same without one, for a Query behind messages without a Sync
)

// forParse is the way in which a probe query for a message of the extended protocol is sent.
func (p *probing) forParse() posing {
	if p.unsynced || p.copied {
		return unsynced
	}
	return withSync
}

// pose returns the messages that run a probe query without a Plan, and notes them.
func (f *ClientFlow) pose(query string, as posing) (messages []byte) {
	return f.posePlan(query, nil, as)
}

// posePlan returns the messages that run a probe query, and notes them. plan, if it is not nil,
// edits the reports about it.
func (f *ClientFlow) posePlan(query string, plan statements.Plan, as posing) (messages []byte) {
	p := &probe{Outcome: requests.NewOutcome(), forQuery: as == behindOpen}
	f.probing.underWay = p
	answered := &details{Use: names.Use{Statement: f.ownName(), Portal: f.ownName()}, probe: p, plan: plan}
	if as == asQuery {
		f.pushHidden(requests.Query, answered)
		return wire.AppendFrame(nil, wire.MsgQuery, []byte(query), []byte{0})
	}
	ours := &details{Use: names.Use{Statement: f.ownName(), Portal: f.ownName()}, plan: plan}
	if as == withSync || as == behindOpen {
		answered.errorTo, ours.errorTo = p, p
	}
	out := f.runHidden(nil, query, ours, answered)
	if as != withSync {
		return wire.AppendFrame(out, wire.MsgFlush)
	}
	f.pushHidden(requests.Sync, ours)
	return wire.AppendFrame(out, wire.MsgSync)
}

// failAs returns messages at which the server fails, for which the client gets the error.
func (f *ClientFlow) failAs(failure []byte) (messages []byte) {
	p := &probe{Outcome: requests.NewOutcome()}
	f.probing.underWay = p
	f.pushHidden(requests.Parse, &details{Use: names.Use{Statement: f.ownName()}, probe: p, instead: failure})
	messages = wire.AppendFrame(nil, wire.MsgParse, []byte(f.ownName()+"\x00"), []byte("no statement\x00"), []byte{0, 0})
	return wire.AppendFrame(messages, wire.MsgFlush)
}

// answer is what the probe query for the message being looked at has returned; "" where there was
// none, or where it failed.
func (f *ClientFlow) answer() string {
	if p := f.probing.answered; p != nil && p.Is() == requests.Done {
		return p.answer
	}
	return ""
}

// failedFor reports whether the probe query for a message has failed in the message's stead: the client
// has got the error, and the server is not to get the message.
func (f *ClientFlow) failedFor(frame []byte) (failed bool, err error) {
	p := f.probing.answered
	if p == nil || frame[0] != wire.MsgQuery {
		return false, nil // the server skips a Parse by itself
	}
	switch p.Is() {
	case requests.Done:
		return false, nil
	case requests.Undone:
		return !p.suppressed, nil
	}
	return false, names.ErrUnclear
}

// probed returns the probe query that a reply coming now belongs to, or nil.
func (f *serverFlow) probed() *probe {
	if h := f.head(); h != nil && h.details != nil {
		return h.details.probe
	}
	return nil
}

// readAnswer takes the answer to a probe query from the body of a DataRow.
func readAnswer(row []byte) string {
	if len(row) < 6 {
		return ""
	}
	n := int(int32(binary.BigEndian.Uint32(row[2:])))
	if n < 0 || n > len(row)-6 {
		return ""
	}
	return string(row[6 : 6+n])
}

// failed is called with the ErrorResponse to the request, and with its edited form if that is not
// nil. It returns what the client gets; hide means that it gets nothing.
func (d *details) failed(frame, edited []byte, kind requests.Kind) (replacement []byte, hide bool) {
	if d.instead != nil {
		return d.instead, false
	}
	if d.errorTo == nil && d.probe == nil {
		return edited, false
	}
	var rep pgproto3.ErrorResponse
	if rep.Decode(frame[wire.HeaderSize:]) != nil {
		return edited, false
	}
	switch {
	case d.errorTo == nil:
		// In a failed transaction the probe query fails. The client's Query may be the ROLLBACK
		// that ends it, so the client is not told, and its Query is sent.
		d.probe.suppressed = kind == requests.Query && rep.Code == refuse.CodeFailedTransaction
		return edited, d.probe.suppressed
	case rep.SeverityUnlocalized != "ERROR":
		return edited, false // it ends the session
	case d.errorTo.forQuery:
		d.errorTo.skips, d.errorTo.suppressed = true, rep.Code == refuse.CodeFailedTransaction
		return edited, d.errorTo.suppressed
	case edited != nil:
		d.errorTo.failure = edited
	default:
		d.errorTo.failure = slices.Clone(frame)
	}
	return nil, true
}

// giveUp settles the probe query of a request that the server skips; false means that the request
// is the Sync at which it stops skipping.
func giveUp(r *request) (more bool) {
	if r.kind == requests.Sync {
		return false
	}
	if r.kind.Extended() && r.details != nil && r.details.probe != nil {
		r.details.probe.Settle(requests.Undone)
	}
	return true
}

// skipsOn reports whether the server skips what it is sent up to a Sync that has not been sent yet, as far as can be
// told. It gives up the probe queries among the requests that are skipped.
func (t *tracker) skipsOn() bool {
	if !t.main.skipping && len(t.more) == 0 {
		return false
	}
	for i := t.main.at; i < t.queue.n; i++ {
		if !giveUp(t.queue.at(i)) {
			return false
		}
	}
	return true
}
