package pipeline

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"mbusproxy/proxy/memory"
	"mbusproxy/proxy/pipeline/athand"
	"mbusproxy/proxy/pipeline/names"
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// ClientFlow walks over the bytes that come from the client: it finds the messages, notes the requests that they
// are, and replaces the text of statements that have a Plan. It belongs to the direction client to server and does
// no input or output.
type ClientFlow struct {
	rewriter statements.Rewriter // nil: nothing is ever rewritten
	secret   string              // statements.Context.Secret
	user     string              // of the startup packet
	database string
	began    time.Time                      // statements.Context.Began
	settings *atomic.Pointer[wire.Settings] // written by the other direction; never nil
	private  string                         // see ownName

	wire.Framer
	// requests are the new requests, those of the last feed in order, and requestsSize their bytes.
	requests     []request
	requestsSize int
	// texts is how many statements of the feed under way the Rewriter has had.
	texts int
	// before is the backlog before the feed under way.
	before Backlog
	// copyEnds counts the ends of COPY that follow each other without another request between.
	copyEnds int
	// buffered is the memory that a long message has while it is buffered.
	buffered memory.LongMessage
	// short means that of the message at hand only the head is buffered, for lack of memory.
	short bool
	// unread is the long message that passes without being read; nil nearly always.
	unread *unread
	// planned is set by the session's first Plan; from then on requests have details.
	planned bool
	// bindTime is set by the session's first bind-time plan.
	bindTime *bindTime
	// awaited is the outcome that the message set aside depends on.
	awaited  *requests.Outcome
	names    *names.Table
	ours     *preparedNames
	probing  probing
	prepared prepared
	unsent   unsent
	portal   unnamedPortal
	traces   traces
	values   valueSignals
	// atHand is the message of which the Rewriter or a plan is asked. held is set while there is one.
	atHand athand.Message
	held   bool
	// Terminated is set by the client's Terminate, and when the session ends while Feed waits for a
	// reply: what follows is not forwarded.
	Terminated bool
	// Nonblocking makes Feed return ErrMustWait instead of asking the Rewriter or a bind-time plan,
	// which may take its time.
	Nonblocking bool
	// recalled is the Plan of the message at hand, where the Rewriter has it at once, or has been
	// asked already, which asked says.
	recalled statements.Plan
	asked    bool
	// refused is what the message at hand fails with; nil nearly always.
	refused statements.Plan
	// awaitedQuery says that the message at hand is a Query that runs because its wait is over.
	awaitedQuery bool
	// waiting is the wait of the message set aside; nil nearly always.
	waiting *waiting
	// waits is waiting, for Flows.Look.
	waits atomic.Pointer[waiting]
	// goesOn says that the feed under way is GoOn, and has not come to its first message.
	goesOn bool
	// room is Wait.Room as the last probe query of a wait has said; 0 if the client has sent
	// something since that may change it. A function may change it unseen.
	room time.Duration
	// ranSinceSync says that the client has sent messages that run something and no Sync behind them.
	ranSinceSync bool
	// aside is what a feed that has stopped has not dealt with: a message, and what follows it.
	aside []byte
	// made is the memory of textFrame, for one feed.
	made []byte
}

// ErrMustWait is returned by Feed before a message whose handling may block: the Rewriter or a
// bind-time plan is to be asked (only if Nonblocking is set), or replies to what was sent before
// have to come first. The next feed waits.
var ErrMustWait = errors.New("message must wait")

// maxTexts bounds the texts that the Rewriter gets in one feed: each counts 1, and another 1 for every textUnit bytes of it. That takes up to
// half a millisecond; the rest of a buffer full of short texts would take twenty, in which the bytes of all others wait. A feed also has enough
// where what the texts became is Full.
const (
	maxTexts = 64
	textUnit = 64
)

// ErrEnough is returned by Feed where the Rewriter has had enough: see maxTexts.
var ErrEnough = errors.New("the rest of the batch has to wait for its turn")

// requestsKeep is how many entries of ClientFlow.requests are kept between batches.
const requestsKeep = 64

// Feed takes a batch, whose head was prefilled, and leaves what is to be written to the server in
// out. The new requests must be queued, by Expect, before that is written. With wire.ErrFull it has
// stopped because too much is outstanding, and what TakeAside returns is to be fed when there is
// room again; with ErrEnough the Rewriter has had many statements, and that is to be fed when others have had
// their turn.
func (f *ClientFlow) Feed(ctx context.Context, before Backlog, buf []byte, out *wire.Splicer) (err error) {
	f.before = before
	defer func() { f.made = nil }()
	if cap(f.requests) > requestsKeep {
		f.requests = nil
	}
	clear(f.requests) // the feed may wait for long, and would keep plans
	f.requests, f.requestsSize = f.requests[:0], 0
	f.unsent.keeping, f.portal.fresh, f.texts = false, false, 0
	if f.awaited != nil && !f.await(ctx) || !f.awaitAnswer(ctx) || !f.awaitResend(ctx) {
		f.Terminated = true
	}
	again, kept := f.sendAgain()
	if len(kept) > 0 {
		buf = slices.Concat(kept, buf)
	}
	out.Begin(buf)
	out.Replace(0, 0, again)
	pos := 0
	for again := f.Revoked(); (pos < len(buf) || again) && !f.Terminated; again = false {
		var frame []byte
		frame, pos, err = f.Next(buf, pos, out, f)
		switch {
		case errors.Is(err, wire.ErrFull):
			f.aside = append([]byte(nil), buf[pos:]...)
			if f.texts >= maxTexts && !f.full() {
				out.Truncate(pos)
				return ErrEnough
			}
			if f.unsent.undecided {
				out.Truncate(pos)
				return ErrMustWait
			}
			out.Replace(pos, len(buf), wire.AppendFrame(nil, wire.MsgFlush))
			return err
		case err != nil:
			// The server refuses such a length too and says so; nothing behind it is a message.
			f.PassAll()
			continue
		}
		if frame == nil && f.mustCut() {
			frame = f.Cut(buf, out)
		}
		if frame == nil {
			continue
		}
		if pos, err = f.take(ctx, buf, frame, pos, out); err != nil {
			return err
		}
		if f.texts > 0 && out.Full() {
			f.texts = maxTexts
		}
	}
	if f.Terminated {
		f.Leave()
		out.Truncate(pos)
	}
	return nil
}

// Blocked reports whether the next feed, if it may wait, would wait for a reply of the server's at its beginning.
func (f *ClientFlow) Blocked() bool {
	return f.awaited != nil && f.awaited.Is() == requests.Pending || f.probing.underWay != nil && f.probing.underWay.Is() == requests.Pending ||
		f.Awaits() && f.ours.resend.is() != resendOwed
}

// TakeAside returns what the last feed has not looked at, which is to be fed next; nil for nothing.
func (f *ClientFlow) TakeAside() (aside []byte) {
	aside, f.aside = f.aside, nil
	return aside
}

// Settle gives back the memory of long messages if none is under way.
func (f *ClientFlow) Settle() {
	if !f.Holds() && f.aside == nil {
		f.Release()
	}
}

// Revoked reports whether what is buffered of a message is to be forwarded unread, which the next feed does.
func (f *ClientFlow) Revoked() bool { return f.Holds() && f.buffered.Revoked() }

// GathersLong reports whether a message is being gathered which is so long that to go on with it may take a while.
func (f *ClientFlow) GathersLong() bool {
	_, need := f.Buffered()
	return need > memory.LongMessageStep
}

// Release gives back the memory of long messages.
func (f *ClientFlow) Release() { f.buffered.Release() }

// take deals with a message, or the head of one, that Next has returned with position pos. It returns the
// position to go on from.
func (f *ClientFlow) take(ctx context.Context, buf, frame []byte, pos int, out *wire.Splicer) (at int, err error) {
	f.recalled, f.asked, f.awaitedQuery = nil, false, false
	if f.room > 0 && f.maySet(frame) {
		f.room = 0
	}
	nonblocking := f.Nonblocking && !f.goesOn
	f.goesOn = false
	ours := f.forRewriter(frame)
	if ours {
		f.takeUp()
		f.texts += 1 + len(frame)/textUnit
	}
	wait := nonblocking && ours && !f.recall(frame)
	if f.bindTime != nil {
		if frame, pos = f.wholeBind(buf, frame, pos, out); frame == nil {
			if !f.mustCut() {
				return pos, nil
			}
			frame = f.Cut(buf, out)
		}
		if f.awaited, err = f.unsettled(frame); err != nil {
			return pos, err
		}
		if f.bindTimeText(frame) != nil {
			f.takeUp()
			wait = wait || nonblocking
		}
	}
	if f.awaited == nil {
		if f.awaited, err = f.awaitsUnnamed(frame); err != nil {
			return pos, err
		}
	}
	if f.awaited == nil {
		f.awaited = f.awaitsPortal(frame)
	}
	wait = wait || f.awaited != nil
	if wait {
		f.aside = f.SetAside(buf, frame, pos, out)
		return pos, ErrMustWait
	}
	aside, failed := false, false
	if f.waiting == nil {
		if f.sendProbe(ctx, buf, frame, pos, out) {
			return pos, ErrMustWait
		}
		if failed, err = f.failedFor(frame); err != nil {
			return pos, err
		}
		aside = !failed && f.beginWait(ctx, buf, frame, pos, out)
	} else if aside, failed, err = f.goOnWaiting(ctx, buf, frame, pos, out); err != nil {
		return pos, err
	}
	switch {
	case aside:
		return pos, ErrMustWait
	case f.Terminated:
		return pos - len(frame), nil
	}
	var repl []byte
	if !failed {
		if repl, err = f.inspect(ctx, frame); err != nil {
			return pos, err
		}
	}
	f.probing.done()
	f.short, f.recalled = false, nil // a plan may have a long text
	f.traces.since = time.Time{}
	f.letGo()
	f.keep(frame)
	if failed && frame[0] == wire.MsgQuery {
		f.atHand.EndUnit() // its reply has come in place of one to it
	}
	if repl != nil || failed {
		f.Replace(out, frame, pos, repl)
	} else {
		f.Keep(out, frame, pos)
	}
	return pos, nil
}

// inspect looks at a message that lies in one piece (or at the head of a long one), notes it, and returns its
// replacement or nil.
func (f *ClientFlow) inspect(ctx context.Context, frame []byte) (replacement []byte, err error) {
	body := frame[wire.HeaderSize:]
	if !f.planned && (frame[0] == wire.MsgBind || frame[0] == wire.MsgDescribe || frame[0] == wire.MsgExecute) {
		return f.unplanned(frame), nil
	}
	switch frame[0] {
	case wire.MsgQuery:
		if !isWhole(frame) {
			f.longQuery(frame)
			return nil, nil
		}
		return f.query(ctx, body), nil
	case wire.MsgParse:
		if !isWhole(frame) {
			f.longParse(frame)
			return nil, nil
		}
		return f.parse(ctx, body), nil
	case wire.MsgBind:
		return f.bind(ctx, frame)
	case wire.MsgDescribe:
		return f.named(requests.Describe, frame), nil
	case wire.MsgClose:
		return f.named(requests.Close, frame), nil
	case wire.MsgExecute:
		return f.execute(frame)
	case wire.MsgTerminate:
		f.Terminated = true
	}
	return nil, nil
}
