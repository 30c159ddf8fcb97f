package pipeline

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/wire"
)

// Asker is a Rewriter that may have to know something of the session itself before it can decide what
// becomes of a text. It costs a round trip to the server.
type Asker interface {
	Rewriter
	// Question returns the query that the session is asked before Rewrite is called with the text, or
	// "" nearly always. It yields one row with one column, a text of at most maxAnswer bytes, which is
	// StatementContext.Answer then. ctx ends with the session. It is only called for texts for which Mentions is true.
	Question(ctx context.Context, sc StatementContext, text string) string
}

// maxAnswer bounds the DataRow with the answer to a question, in bytes.
const maxAnswer = wire.MaxSmall

const codeFailedTransaction = "25P02" // in_failed_sql_transaction

// asking is what a ClientFlow keeps of questions.
type asking struct {
	// unsynced is set while messages of the extended protocol wait for a Sync, copied while the end of a COPY
	// may do so: the Sync before it was ignored, if it belongs to an Execute.
	unsynced, copied bool
	// awaited is the question under way for the message set aside, answered is awaited once its
	// outcome is known and until that message is dealt with.
	awaited, answered *deed
	told              told
	// canceled is set where the client has cancelled the statement while the Rewriter thought of a question.
	canceled bool
}

// done is called when a message has been dealt with.
func (a *asking) done() { a.answered, a.told, a.canceled = nil, told{}, false }

// note takes note of a message of the client.
func (a *asking) note(kind replyKind) {
	switch {
	case kind.extended():
		a.unsynced = true
	case kind == owedSync:
		a.unsynced, a.copied = false, false
	case kind == copyEnd:
		a.copied = true
	}
}

// awaitAnswer waits for the outcome of the question under way, if any; false means that the session
// has ended.
func (f *ClientFlow) awaitAnswer(ctx context.Context) bool {
	d := f.asking.awaited
	if d == nil {
		return true
	}
	f.asking.awaited, f.asking.answered = nil, d
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
func (f *ClientFlow) ask(ctx context.Context, buf, frame []byte, pos int, out *wire.Splicer) bool {
	var messages []byte
	switch last := f.asking.answered; {
	case last == nil && f.unsure(frame):
		messages = f.askSettings(frame)
	case last == nil:
		messages = f.question(ctx, frame)
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
func (f *ClientFlow) question(ctx context.Context, frame []byte) (messages []byte) {
	asker, ok := f.rewriter.(Asker)
	if !ok || !f.forRewriter(frame) {
		return nil
	}
	simple := frame[0] == wire.MsgQuery
	if simple && f.asking.unsynced {
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
	question := asker.Question(held, f.context(simple, voids), string(text))
	if f.asking.canceled = letGo(); f.asking.canceled || question == "" {
		return nil
	}
	return f.pose(question, simple, !simple && !f.asking.unsynced && !f.asking.copied)
}

// pose returns the messages that ask a question, and notes them. synced: with a Sync.
func (f *ClientFlow) pose(question string, simple, synced bool) (messages []byte) {
	d := newDeed(0, "", meaning{})
	f.asking.awaited = d
	asks := &about{statement: f.ownName(), portal: f.ownName(), asks: d, deeds: []*deed{d}}
	if simple {
		f.hide(owedQuery, asks)
		return wire.AppendFrame(nil, wire.MsgQuery, []byte(question), []byte{0})
	}
	ours := &about{statement: f.ownName(), portal: f.ownName()}
	if synced {
		asks.quiet, ours.quiet = d, d
	}
	out := f.runHidden(nil, question, ours, asks)
	if !synced {
		return wire.AppendFrame(out, wire.MsgFlush)
	}
	f.hide(owedSync, ours)
	return wire.AppendFrame(out, wire.MsgSync)
}

// failAs returns messages at which the server fails, for which the client gets the error.
func (f *ClientFlow) failAs(failure []byte) (messages []byte) {
	d := newDeed(0, "", meaning{})
	f.asking.awaited = d
	f.hide(owedParse, &about{statement: f.ownName(), asks: d, deeds: []*deed{d}, instead: failure})
	messages = wire.AppendFrame(nil, wire.MsgParse, []byte(f.ownName()+"\x00"), []byte("no statement\x00"), []byte{0, 0})
	return wire.AppendFrame(messages, wire.MsgFlush)
}

// answer is what the session said to the question about the message being looked at; "" when it was not
// asked, or could not answer.
func (f *ClientFlow) answer() string {
	if d := f.asking.answered; d != nil && d.outcome.Load() == deedDone {
		return d.answer
	}
	return ""
}

// failedFor reports whether the question about a message has failed in the message's stead: the client
// has got the error, and the server is not to get the message.
func (f *ClientFlow) failedFor(frame []byte) (failed bool, err error) {
	d := f.asking.answered
	if d == nil || frame[0] != wire.MsgQuery {
		return false, nil // the server skips a Parse by itself
	}
	switch d.outcome.Load() {
	case deedDone:
		return false, nil
	case deedUndone:
		return !d.hushed, nil
	}
	return false, errUnclear
}

// forQuestion returns the question that a reply coming now answers, or nil.
func (f *serverFlow) forQuestion() *deed {
	if h := f.head(); h != nil && h.about != nil {
		return h.about.asks
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
func (a *about) failed(frame, edited []byte, kind replyKind) (replacement []byte, hide bool) {
	if a.instead != nil {
		return a.instead, false
	}
	if a.quiet == nil && a.asks == nil {
		return edited, false
	}
	var rep pgproto3.ErrorResponse
	if rep.Decode(frame[wire.HeaderSize:]) != nil {
		return edited, false
	}
	switch {
	case a.quiet == nil:
		// The Query may be the one that ends the transaction.
		a.asks.hushed = kind == owedQuery && rep.Code == codeFailedTransaction
		return edited, a.asks.hushed
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
func giveUp(o *owed) (more bool) {
	if o.kind == owedSync {
		return false
	}
	if o.kind.extended() && o.about != nil && o.about.asks != nil {
		o.about.asks.settle(deedUndone)
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
