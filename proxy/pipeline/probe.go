package pipeline

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/wire"
)

// Prober is a Rewriter that may have to know something of the session itself before it can decide what
// becomes of a text. It costs a round trip to the server.
type Prober interface {
	Rewriter
	// Question returns the query that the session is asked before Rewrite is called with the text, or
	// "" nearly always. It yields one row with one column, a text of at most maxAnswer bytes, which is
	// StatementContext.Answer then. ctx ends with the session. It is only called for texts for which Mentions is true.
	Probe(ctx context.Context, sc StatementContext, text string) string
}

// maxAnswer bounds the DataRow with the answer to a question, in bytes.
const maxAnswer = wire.MaxSmall

const codeFailedTransaction = "25P02" // in_failed_sql_transaction

// probing is what a clientFlow keeps of questions.
type probing struct {
	// unsynced is set while messages of the extended protocol wait for a Sync, copied while the end of a COPY
	// may do so: the Sync before it was ignored, if it belongs to an Execute.
	unsynced, copied bool
	// awaited is the question under way for the message set aside, answered is awaited once its
	// outcome is known and until that message is dealt with.
	awaited, answered *probe
	told              told
	// canceled is set where the client has cancelled the statement while the Rewriter thought of a question.
	canceled bool
}

// probe is a probe query that was sent.
type probe struct {
	*outcome
	// Set before the outcome is: what the session said, that the failure was kept from the client, and
	// the ErrorResponse of one that had a Sync of its own.
	answer  string
	hushed  bool
	failure []byte
}

// done is called when a message has been dealt with.
func (a *probing) done() { a.answered, a.told, a.canceled = nil, told{}, false }

// note takes note of a message of the client.
func (a *probing) note(kind requestKind) {
	switch {
	case kind.extended():
		a.unsynced = true
	case kind == kindSync:
		a.unsynced, a.copied = false, false
	case kind == copyEnd:
		a.copied = true
	}
}

// awaitAnswer waits for the outcome of the question under way, if any; false means that the session
// has ended.
func (f *ClientFlow) awaitAnswer(ctx context.Context) bool {
	d := f.probing.awaited
	if d == nil {
		return true
	}
	f.probing.awaited, f.probing.answered = nil, d
	select {
	case <-d.known:
		f.settled()
		return true
	case <-ctx.Done():
		return false
	}
}

// ask puts a question into out if the Rewriter has one about the message that next returned with
// position pos, and sets the message aside until there is an answer.
//
// A Query gets a Query before it, a Parse gets messages of the extended protocol. The question runs in the
// transaction in which the message is about to, if there is one, and an error of the question is the error
// that the message would have had: the transaction has failed, or the client has cancelled.
//
// A Parse that nothing precedes since the last Sync is asked about with a Sync of the question's own: without,
// servers from 18 on run the statement in a transaction block, where some cannot run. Where such a question
// fails, another statement that fails is sent without a Sync, and the client gets the question's error for it:
// the server then skips what it is to skip. A Query behind messages without a Sync is not asked about, for the question would end their transaction.
func (f *ClientFlow) sendProbe(ctx context.Context, buf, frame []byte, pos int, out *wire.Splicer) bool {
	var messages []byte
	switch last := f.probing.answered; {
	case last == nil && f.unsure(frame):
		messages = f.probeSettings(frame)
	case last == nil:
		messages = f.probeFor(ctx, frame)
	case last.failure != nil:
		messages = f.failAs(last.failure)
	}
	if messages == nil {
		return false
	}
	at := pos - len(frame)
	if f.Holds() {
		at = 0
	}
	out.Replace(at, at, messages)
	f.aside = f.SetAside(buf, frame, pos, out)
	return true
}

// question returns the messages that ask what the Rewriter wants to know about a message; nil: nothing.
func (f *ClientFlow) probeFor(ctx context.Context, frame []byte) (messages []byte) {
	prober, ok := f.rewriter.(Prober)
	if !ok || !f.forRewriter(frame) {
		return nil
	}
	simple := frame[0] == wire.MsgQuery
	if simple && f.probing.unsynced {
		return nil
	}
	text, rest, ok := wire.CString(frame[wire.HeaderSize:])
	var voids []int
	if !simple && ok {
		if text, rest, ok = wire.CString(rest); ok {
			voids = voidParams(rest)
		}
	}
	if !ok || simple && len(rest) > 0 {
		return nil // malformed: the server says so
	}
	held, letGo := f.holding.hold(ctx)
	question := prober.Probe(held, f.context(simple, voids), string(text))
	if f.probing.canceled = letGo(); f.probing.canceled || question == "" {
		return nil
	}
	return f.pose(question, simple, !simple && !f.probing.unsynced && !f.probing.copied)
}

// pose returns the messages that ask a question, and notes them. synced: with a Sync.
func (f *ClientFlow) pose(question string, simple, synced bool) (messages []byte) {
	d := &probe{outcome: newOutcome()}
	f.probing.awaited = d
	asks := &details{statement: f.ownName(), portal: f.ownName(), probe: d}
	if simple {
		f.hide(kindQuery, asks)
		return wire.AppendFrame(nil, wire.MsgQuery, []byte(question), []byte{0})
	}
	ours := &details{statement: f.ownName(), portal: f.ownName()}
	if synced {
		asks.quiet, ours.quiet = d, d
	}
	out := f.runHidden(nil, question, ours, asks)
	if !synced {
		return wire.AppendFrame(out, wire.MsgFlush)
	}
	f.hide(kindSync, ours)
	return wire.AppendFrame(out, wire.MsgSync)
}

// failAs returns messages at which the server fails, for which the client gets the error.
func (f *ClientFlow) failAs(failure []byte) (messages []byte) {
	d := &probe{outcome: newOutcome()}
	f.probing.awaited = d
	f.hide(kindParse, &details{statement: f.ownName(), probe: d, instead: failure})
	messages = wire.AppendFrame(nil, wire.MsgParse, []byte(f.ownName()+"\x00"), []byte("no statement\x00"), []byte{0, 0})
	return wire.AppendFrame(messages, wire.MsgFlush)
}

// answer is what the session said to the question about the message being looked at; "" when it was not
// asked, or could not answer.
func (f *ClientFlow) answer() string {
	if d := f.probing.answered; d != nil && d.is() == done {
		return d.answer
	}
	return ""
}

// failedFor reports whether the question about a message has failed in the message's stead: the client
// has got the error, and the server is not to get the message.
func (f *ClientFlow) failedFor(frame []byte) (failed bool, err error) {
	d := f.probing.answered
	if d == nil || frame[0] != wire.MsgQuery {
		return false, nil // the server skips a Parse by itself
	}
	switch d.is() {
	case done:
		return false, nil
	case undone:
		return !d.hushed, nil
	}
	return false, errUnclear
}

// probed returns the question that a reply coming now answers, or nil.
func (f *serverFlow) probed() *probe {
	if h := f.head(); h != nil && h.details != nil {
		return h.details.probe
	}
	return nil
}

// readAnswer takes the answer to a question from a DataRow.
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

// failed is called with the error of a message, and with what an edit has made of it if that is not nil. It
// returns what the client gets; hide: nothing.
func (a *details) failed(frame, edited []byte, kind requestKind) (replacement []byte, hide bool) {
	if a.instead != nil {
		return a.instead, false
	}
	if a.quiet == nil && a.probe == nil {
		return edited, false
	}
	var rep pgproto3.ErrorResponse
	if rep.Decode(frame[wire.HeaderSize:]) != nil {
		return edited, false
	}
	switch {
	case a.quiet == nil:
		// The Query may be the one that ends the transaction.
		a.probe.hushed = kind == kindQuery && rep.Code == codeFailedTransaction
		return edited, a.probe.hushed
	case rep.SeverityUnlocalized != "ERROR":
		return edited, false // it ends the session
	case edited != nil:
		a.quiet.failure = edited
	default:
		a.quiet.failure = slices.Clone(frame)
	}
	return nil, true
}

// giveUp settles the questions up to the next Sync, which the server skips; false means that there is
// such a Sync.
func giveUp(o *request) (more bool) {
	if o.kind == kindSync {
		return false
	}
	if o.kind.extended() && o.details != nil && o.details.probe != nil {
		o.details.probe.settle(undone)
	}
	return true
}

// skipsOn reports whether the server skips what it is sent up to a Sync that is not yet among what it
// owes, as far as can be told. Questions among what is skipped are given up.
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
