package proxy

import (
	"context"
	"errors"

	"sync/atomic"
)

// clientFlow walks over the bytes that come from the client: it finds the messages, notes what
// the server will owe for them, and replaces the text of statements that have a Plan.
// It belongs to the direction client -> server and does no input or output.
type clientFlow struct {
	rewriter Rewriter // nil: nothing is ever rewritten
	secret   string   // StatementContext.Secret
	user     string   // of the startup packet
	database string
	settings *atomic.Pointer[settings] // written by the other direction; never nil
	private  string                    // see ownName

	framer
	// news are the entries for the messages of the last feed, in order, and newsSize their bytes.
	news     []owed
	newsSize int
	// before is what was known of the server before the feed under way.
	before standing
	// copyEnds counts the ends of COPY that follow each other.
	copyEnds int
	// gathered is what is held of a long message.
	gathered longMessage
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
	// terminated is set by Terminate: what follows is not forwarded.
	terminated bool
	// detached makes feed stop with errNeedsRewriter before a message for the Rewriter or a late
	// plan, whose answer may take its time; aside is then that message and what follows.
	detached bool
	aside    []byte
}

// standing is where the server stands before a feed.
type standing struct {
	// owing and size are how many replies it owes, and the bytes of their entries.
	owing, size int
	// ends are those of them that make the server send what it holds back.
	ends int
	// skips: it ignores all up to the next Sync.
	skips bool
}

// errNeedsRewriter is returned by a detached feed; see framer.setAside. It is also returned by
// any feed before a message that can be looked at only when replies to what was sent before have
// come: then the next feed waits for them.
var errNeedsRewriter = errors.New("statement is for the Rewriter")

// newsKeep is how many entries of news are kept between batches.
const newsKeep = 64

// feed takes a batch, whose head was prefilled, and leaves what is to be written to the server in
// out. before is where the server stands. The entries in news must be queued before it is written. With errFull it has stopped before a message,
// and aside is what it has not looked at: that is to be fed when the server owes less.
func (f *clientFlow) feed(ctx context.Context, before standing, buf []byte, out *assembly) (err error) {
	f.before = before
	if cap(f.news) > newsKeep {
		f.news = nil
	}
	f.news, f.newsSize = f.news[:0], 0
	out.begin(buf)
	pos := 0
	if f.late != nil && f.late.awaited != nil && !f.late.await(ctx) || !f.awaitAnswer(ctx) {
		f.terminated = true
	}
	for again := f.holds() && f.gathered.revoked(); (pos < len(buf) || again) && !f.terminated; again = false {
		var frame []byte
		frame, pos, err = f.next(buf, pos, out, f)
		switch {
		case errors.Is(err, errFull):
			f.aside = append([]byte(nil), buf[pos:]...)
			out.replace(pos, len(buf), appendFrame(nil, msgFlush))
			return err
		case err != nil:
			// The server refuses such a length too and says so; nothing behind it is a message.
			f.passAll()
			continue
		}
		if frame == nil && f.mustCut() {
			frame = f.cut(buf, out)
		}
		if frame == nil {
			continue
		}
		if pos, err = f.take(ctx, buf, frame, pos, out); err != nil {
			return err
		}
	}
	if f.terminated {
		out.truncate(pos)
	}
	return nil
}

// takeAside returns what the last feed has not looked at, which is to be fed next; nil: nothing.
func (f *clientFlow) takeAside() (aside []byte) {
	aside, f.aside = f.aside, nil
	return aside
}

// settle gives back the memory of long messages if none is under way.
func (f *clientFlow) settle() {
	if !f.holds() && f.aside == nil {
		f.release()
	}
}

// release gives back the memory of long messages.
func (f *clientFlow) release() { f.gathered.release() }

// take deals with a message, or the head of one, that next has returned with position pos. It returns the
// position to go on from.
func (f *clientFlow) take(ctx context.Context, buf, frame []byte, pos int, out *assembly) (at int, err error) {
	wait := f.detached && f.forRewriter(frame)
	if f.late != nil {
		if frame, pos = f.wholeBind(buf, frame, pos, out); frame == nil {
			if !f.mustCut() {
				return pos, nil
			}
			frame = f.cut(buf, out)
		}
		if f.late.awaited, err = f.late.unsettled(frame); err != nil {
			return pos, err
		}
		wait = wait || f.late.awaited != nil || f.detached && f.late.asks(frame)
	}
	if wait {
		f.aside = f.setAside(buf, frame, pos, out)
		return pos, errNeedsRewriter
	}
	if f.ask(ctx, buf, frame, pos, out) {
		return pos, errNeedsRewriter
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
		f.replace(out, frame, pos, repl)
	} else {
		f.keep(out, frame, pos)
	}
	return pos, nil
}

// wants says how much of a message of type typ and the given total size must lie in one piece
// before it goes on: 0 means that the header is enough. It notes what needs no body.
func (f *clientFlow) wants(typ byte, size int) (gather int) {
	if f.unread != nil {
		f.readOn()
	}
	switch typ {
	case msgCopyData:
		return 0
	case msgTerminate:
		if size == headerSize { // with a body it is refused by the server
			return size
		}
		return 0
	}
	if f.before.skips {
		f.asking.done() // it was about a message that is skipped now
		if typ != msgSync {
			return 0
		}
		f.before.skips = false
	}
	switch typ {
	case msgCopyDone, msgCopyFail:
		f.push(copyEnd, nil)
		return 0
	case msgQuery, msgParse, msgBind, msgDescribe, msgExecute, msgClose, msgSync, msgFunctionCall:
		if f.full() {
			return pause
		}
	default:
		return 0
	}
	switch typ {
	case msgQuery:
		if f.rewriter != nil {
			return wantsText(size)
		}
		f.push(owedQuery, nil)
	case msgParse:
		if f.rewriter != nil {
			return wantsText(size)
		}
		f.push(owedParse, nil)
	case msgBind:
		if f.planned {
			return min(size, maxNames)
		}
		f.push(owedBind, nil)
	case msgDescribe:
		if f.planned {
			return min(size, maxNames)
		}
		f.push(owedDescribe, nil)
	case msgExecute:
		if f.planned {
			return min(size, maxNames)
		}
		f.push(owedExecute, nil)
	case msgClose:
		if f.planned {
			return min(size, maxNames)
		}
		f.push(owedClose, nil)
	case msgSync:
		f.push(owedSync, nil)
	case msgFunctionCall:
		f.push(owedFunctionCall, nil)
	}
	return 0
}

// wantsText is wants for a message with a text: all of it, or its head where it is too long to be looked at.
func wantsText(size int) (gather int) {
	if size > maxText {
		return maxNames
	}
	return size
}

// full reports that enough is owed. The client is then not read until the server has caught up, and a
// Flush makes the server say what it has: it holds replies back until Sync.
func (f *clientFlow) full() bool {
	return f.before.owing+len(f.news) >= maxOwed || f.before.size+f.newsSize >= maxOwedBytes
}

// forRewriter reports whether inspect would call Rewrite for the message. Of long ones it says so unseen, for to
// look at them takes time.
func (f *clientFlow) forRewriter(frame []byte) bool {
	if frame[0] != msgQuery && frame[0] != msgParse || !isWhole(frame) {
		return false
	}
	return f.detached && len(frame) > 2*maxNames || f.rewriter.Mentions(frame[headerSize:])
}

// maxCopyEnds is how many ends of COPY in a row are noted: more than statements of one Query take.
const maxCopyEnds = 1024

func (f *clientFlow) push(kind replyKind, a *about) {
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
func (f *clientFlow) add(o owed) {
	if o.about != nil {
		o.size = uint32(o.about.size())
		f.newsSize += int(o.size)
	}
	f.news = append(f.news, o)
}

// inspect looks at a gathered message (or at the head of a long one), notes it, and returns its
// replacement or nil.
func (f *clientFlow) inspect(ctx context.Context, frame []byte) (replacement []byte, err error) {
	body := frame[headerSize:]
	switch frame[0] {
	case msgQuery:
		if !isWhole(frame) {
			f.longQuery(frame)
			return nil, nil
		}
		return f.query(ctx, body), nil
	case msgParse:
		if !isWhole(frame) {
			f.longParse(frame)
			return nil, nil
		}
		return f.parse(ctx, body), nil
	case msgBind:
		return f.bind(ctx, frame)
	case msgDescribe:
		f.named(owedDescribe, body)
	case msgClose:
		f.named(owedClose, body)
	case msgExecute:
		return f.execute(frame)
	case msgTerminate:
		f.terminated = true
	}
	return nil, nil
}

// roomy reports that a client that had to wait may go on.
func (s standing) roomy() bool { return s.owing <= maxOwed/2 && s.size <= maxOwedBytes/2 }
