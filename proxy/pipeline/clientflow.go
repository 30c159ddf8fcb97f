package pipeline

import (
	"context"
	"errors"
	"sync/atomic"

	"mbusproxy/proxy/memory"
	"mbusproxy/proxy/wire"
)

// ClientFlow walks over the bytes that come from the client: it finds the messages, notes what
// the server will owe for them, and replaces the text of statements that have a Plan.
// It belongs to the direction client -> server and does no input or output.
type ClientFlow struct {
	rewriter Rewriter // nil: nothing is ever rewritten
	secret   string   // StatementContext.Secret
	user     string   // of the startup packet
	database string
	settings *atomic.Pointer[wire.Settings] // written by the other direction; never nil
	private  string                         // see ownName

	wire.Framer
	// news are the entries for the messages of the last feed, in order, and newsSize their bytes.
	news     []owed
	newsSize int
	// before is what was known of the server before the feed under way.
	before Backlog
	// copyEnds counts the ends of COPY that follow each other.
	copyEnds int
	// gathered is what is held of a long message.
	gathered memory.LongMessage
	// short is set while the message being looked at was let go.
	short bool
	// unread is the long message that passes without being looked at; nil nearly always.
	unread *unread
	// planned is set by the session's first Plan; from then on names are noted.
	planned bool
	// late is set by the session's first late plan.
	late   *lateFlow
	asking asking
	// held by the Rewriter: a statement of the session; see holding.
	holding holding
	// Terminated is set by Terminate: what follows is not forwarded.
	Terminated bool
	// Detached makes feed stop with ErrNeedsRewriter before a message for the Rewriter or a late
	// plan, whose answer may take its time; aside is then that message and what follows.
	Detached bool
	aside    []byte
}

// Backlog is where the server stands before a feed.
type Backlog struct {
	// owing and size are how many replies it owes, and the bytes of their entries.
	Outstanding, size int
	// Ends are those of them that make the server send what it holds back.
	Ends int
	// skips: it ignores all up to the next Sync.
	skips bool
}

// ErrNeedsRewriter is returned by a detached feed; see wire.Framer.SetAside. It is also returned by
// any feed before a message that can be looked at only when replies to what was sent before have
// come: then the next feed waits for them.
var ErrNeedsRewriter = errors.New("statement is for the Rewriter")

// newsKeep is how many entries of news are kept between batches.
const newsKeep = 64

// Feed takes a batch, whose head was prefilled, and leaves what is to be written to the server in
// out. before is where the server stands. The entries in news must be queued before it is written. With wire.ErrFull it has stopped before a message,
// and aside is what it has not looked at: that is to be fed when the server owes less.
func (f *ClientFlow) Feed(ctx context.Context, before Backlog, buf []byte, out *wire.Splicer) (err error) {
	f.before = before
	if cap(f.news) > newsKeep {
		f.news = nil
	}
	f.news, f.newsSize = f.news[:0], 0
	out.Begin(buf)
	pos := 0
	if f.late != nil && f.late.awaited != nil && !f.late.await(ctx) || !f.awaitAnswer(ctx) {
		f.Terminated = true
	}
	for again := f.Holds() && f.gathered.Revoked(); (pos < len(buf) || again) && !f.Terminated; again = false {
		var frame []byte
		frame, pos, err = f.Next(buf, pos, out, f)
		switch {
		case errors.Is(err, wire.ErrFull):
			f.aside = append([]byte(nil), buf[pos:]...)
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
	}
	if f.Terminated {
		out.Truncate(pos)
	}
	return nil
}

// TakeAside returns what the last feed has not looked at, which is to be fed next; nil: nothing.
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

// Release gives back the memory of long messages.
func (f *ClientFlow) Release() { f.gathered.Release() }

// take deals with a message, or the head of one, that next has returned with position pos. It returns the
// position to go on from.
func (f *ClientFlow) take(ctx context.Context, buf, frame []byte, pos int, out *wire.Splicer) (at int, err error) {
	wait := f.Detached && f.forRewriter(frame)
	if f.late != nil {
		if frame, pos = f.wholeBind(buf, frame, pos, out); frame == nil {
			if !f.mustCut() {
				return pos, nil
			}
			frame = f.Cut(buf, out)
		}
		if f.late.awaited, err = f.late.unsettled(frame); err != nil {
			return pos, err
		}
		wait = wait || f.late.awaited != nil || f.Detached && f.late.asks(frame)
	}
	if wait {
		f.aside = f.SetAside(buf, frame, pos, out)
		return pos, ErrNeedsRewriter
	}
	if f.ask(ctx, buf, frame, pos, out) {
		return pos, ErrNeedsRewriter
	}
	failed, err := f.failedFor(frame)
	if err != nil {
		return pos, err
	}
	var repl []byte
	if !failed {
		if repl, err = f.inspect(ctx, frame); err != nil {
			return pos, err
		}
	}
	f.asking.done()
	f.short = false
	if repl != nil || failed {
		f.Replace(out, frame, pos, repl)
	} else {
		f.Keep(out, frame, pos)
	}
	return pos, nil
}

// Wants says how much of a message of type typ and the given total size must lie in one piece
// before it goes on: 0 means that the header is enough. It notes what needs no body.
func (f *ClientFlow) Wants(typ byte, size int) (gather int) {
	if f.unread != nil {
		f.readOn()
	}
	switch typ {
	case wire.MsgCopyData:
		return 0
	case wire.MsgTerminate:
		if size == wire.HeaderSize { // with a body it is refused by the server
			return size
		}
		return 0
	}
	if f.before.skips {
		f.asking.done() // it was about a message that is skipped now
		if typ != wire.MsgSync {
			return 0
		}
		f.before.skips = false
	}
	switch typ {
	case wire.MsgCopyDone, wire.MsgCopyFail:
		f.push(copyEnd, nil)
		return 0
	case wire.MsgQuery, wire.MsgParse, wire.MsgBind, wire.MsgDescribe, wire.MsgExecute, wire.MsgClose, wire.MsgSync, wire.MsgFunctionCall:
		if f.full() {
			return wire.Pause
		}
	default:
		return 0
	}
	switch typ {
	case wire.MsgQuery:
		if f.rewriter != nil {
			return wantsText(size)
		}
		f.push(owedQuery, nil)
	case wire.MsgParse:
		if f.rewriter != nil {
			return wantsText(size)
		}
		f.push(owedParse, nil)
	case wire.MsgBind:
		if f.planned {
			return min(size, wire.MaxNames)
		}
		f.push(owedBind, nil)
	case wire.MsgDescribe:
		if f.planned {
			return min(size, wire.MaxNames)
		}
		f.push(owedDescribe, nil)
	case wire.MsgExecute:
		if f.planned {
			return min(size, wire.MaxNames)
		}
		f.push(owedExecute, nil)
	case wire.MsgClose:
		if f.planned {
			return min(size, wire.MaxNames)
		}
		f.push(owedClose, nil)
	case wire.MsgSync:
		f.push(owedSync, nil)
	case wire.MsgFunctionCall:
		f.push(owedFunctionCall, nil)
	}
	return 0
}

// wantsText is wants for a message with a text: all of it, or its head where it is too long to be looked at.
func wantsText(size int) (gather int) {
	if size > wire.MaxText {
		return wire.MaxNames
	}
	return size
}

// full reports that enough is owed. The client is then not read until the server has caught up, and a
// Flush makes the server say what it has: it holds replies back until Sync.
func (f *ClientFlow) full() bool {
	return f.before.Outstanding+len(f.news) >= maxOwed || f.before.size+f.newsSize >= maxOwedBytes
}

// forRewriter reports whether inspect would call Rewrite for the message. Of long ones it says so unseen, for to
// look at them takes time.
func (f *ClientFlow) forRewriter(frame []byte) bool {
	if frame[0] != wire.MsgQuery && frame[0] != wire.MsgParse || !isWhole(frame) {
		return false
	}
	return f.Detached && len(frame) > 2*wire.MaxNames || f.rewriter.Mentions(frame[wire.HeaderSize:])
}

// maxCopyEnds is how many ends of COPY in a row are noted: more than statements of one Query take.
const maxCopyEnds = 1024

func (f *ClientFlow) push(kind replyKind, a *about) {
	f.asking.note(kind)
	if kind != copyEnd {
		f.copyEnds = 0
	} else if f.copyEnds++; f.copyEnds > maxCopyEnds {
		return
	}
	if f.late != nil {
		f.late.sent(kind)
	}
	f.add(owed{kind: kind, about: a})
}

// add adds to news.
func (f *ClientFlow) add(o owed) {
	if o.about != nil {
		o.size = uint32(o.about.size())
		f.newsSize += int(o.size)
	}
	f.news = append(f.news, o)
}

// inspect looks at a gathered message (or at the head of a long one), notes it, and returns its
// replacement or nil.
func (f *ClientFlow) inspect(ctx context.Context, frame []byte) (replacement []byte, err error) {
	body := frame[wire.HeaderSize:]
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
		f.named(owedDescribe, body)
	case wire.MsgClose:
		f.named(owedClose, body)
	case wire.MsgExecute:
		return f.execute(frame)
	case wire.MsgTerminate:
		f.Terminated = true
	}
	return nil, nil
}

// Roomy reports that a client that had to wait may go on.
func (s Backlog) Roomy() bool { return s.Outstanding <= maxOwed/2 && s.size <= maxOwedBytes/2 }
