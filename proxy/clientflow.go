package proxy

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"sync/atomic"
)

// clientFlow walks over the bytes that come from the client: it finds the messages, notes what
// the server will owe for them, and replaces the text of statements that have a Plan.
// It belongs to the direction client -> server and does no input or output.
type clientFlow struct {
	rewriter Rewriter // nil: nothing is ever rewritten
	user     string   // of the startup packet
	database string
	settings *atomic.Pointer[settings] // written by the other direction; never nil

	framer
	// news are the entries for the messages of the last feed, in order.
	news []owed
	// planned is set by the session's first Plan; from then on names are noted.
	planned bool
	// late is set by the session's first late plan.
	late   *lateFlow
	asking asking
	// terminated is set by Terminate: what follows is not forwarded.
	terminated bool
	// detached makes feed stop with errNeedsRewriter before a message for the Rewriter or a late
	// plan, whose answer may take its time; aside is then that message and what follows.
	detached bool
	aside    []byte
}

// errNeedsRewriter is returned by a detached feed; see clientFlow.setAside. It is also returned by
// any feed before a message that can be looked at only when replies to what was sent before have
// come: then the next feed waits for them.
var errNeedsRewriter = errors.New("statement is for the Rewriter")

// newsKeep is how many entries of news are kept between batches.
const newsKeep = 64

// feed takes a batch, whose head was prefilled, and leaves what is to be written to the server in
// out. The entries in news must be queued before it is written.
func (f *clientFlow) feed(ctx context.Context, buf []byte, out *assembly) (err error) {
	if cap(f.news) > newsKeep {
		f.news = nil
	}
	f.news = f.news[:0]
	out.begin(buf)
	pos := 0
	if f.late != nil && f.late.awaited != nil && !f.late.await(ctx) || !f.awaitAnswer(ctx) {
		f.terminated = true
	}
	for pos < len(buf) && !f.terminated {
		var frame []byte
		frame, pos, err = f.next(buf, pos, out, f)
		if err != nil {
			// The server refuses such a length too and says so; nothing behind it is a message.
			f.left = math.MaxInt
			continue
		}
		if frame == nil {
			continue
		}
		wait := f.detached && f.forRewriter(frame)
		if f.late != nil {
			if frame, pos = f.wholeBind(buf, frame, pos, out); frame == nil {
				continue
			}
			if f.late.awaited, err = f.late.unsettled(frame); err != nil {
				return err
			}
			wait = wait || f.late.awaited != nil || f.detached && f.late.asks(frame)
		}
		if wait {
			f.setAside(buf, frame, pos, out)
			return errNeedsRewriter
		}
		if f.ask(buf, frame, pos, out) {
			return errNeedsRewriter
		}
		failed, err := f.failedFor(frame)
		if err != nil {
			return err
		}
		var repl []byte
		if !failed {
			if repl, err = f.inspect(ctx, frame); err != nil {
				return err
			}
		}
		f.asking.answered = nil
		if repl != nil || failed {
			f.replace(out, frame, pos, repl)
		} else {
			f.keep(out, frame, pos)
		}
	}
	if f.terminated {
		out.truncate(pos)
	}
	return nil
}

// wants says how much of a message of type typ and the given total size must lie in one piece
// before it goes on: 0 means that the header is enough. It notes what needs no body.
func (f *clientFlow) wants(typ byte, size int) (gather int) {
	switch typ {
	case msgQuery:
		if f.rewriter != nil && size <= maxText {
			return size
		}
		f.push(owedQuery, nil)
	case msgParse:
		if f.rewriter != nil && size <= maxText {
			return size
		}
		if f.planned { // too long to be looked at, but for its name
			return maxNames
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
	case msgCopyDone, msgCopyFail:
		f.push(copyEnd, nil)
	case msgTerminate:
		if size == headerSize { // with a body it is refused by the server
			return size
		}
	}
	return 0
}

// forRewriter reports whether inspect would call Rewrite for the message.
func (f *clientFlow) forRewriter(frame []byte) bool {
	return (frame[0] == msgQuery || frame[0] == msgParse && isWhole(frame)) && f.rewriter.Mentions(frame[headerSize:])
}

// setAside stops a feed before frame: out keeps what comes before, and aside gets a copy of the
// message and all behind it, to be fed again.
func (f *clientFlow) setAside(buf, frame []byte, pos int, out *assembly) {
	if f.held != nil {
		out.truncate(0)
		f.held = nil
	} else {
		out.truncate(pos - len(frame))
	}
	f.aside = append(append(make([]byte, 0, len(frame)+len(buf)-pos), frame...), buf[pos:]...)
	f.left = 0
}

func (f *clientFlow) push(kind replyKind, a *about) {
	f.asking.note(kind)
	if f.late != nil {
		f.late.sent(kind)
	}
	f.news = append(f.news, owed{kind: kind, about: a})
}

// inspect looks at a gathered message (or at the head of a long one), notes it, and returns its
// replacement or nil.
func (f *clientFlow) inspect(ctx context.Context, frame []byte) (replacement []byte, err error) {
	body := frame[headerSize:]
	switch frame[0] {
	case msgQuery:
		return f.query(ctx, body), nil
	case msgParse:
		if !isWhole(frame) {
			f.longParse(body)
			return nil, nil
		}
		return f.parse(ctx, body), nil
	case msgBind:
		return nil, f.bind(ctx, frame)
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

func (f *clientFlow) query(ctx context.Context, body []byte) []byte {
	text, rest, ok := cstring(body)
	if !ok || len(rest) > 0 {
		f.push(owedQuery, nil) // malformed: the server says so
		return nil
	}
	plan := f.plan(ctx, text, true, nil)
	if !f.planned {
		f.push(owedQuery, nil)
		return nil
	}
	a := &about{plan: plan, deallocated: deallocatedNames(string(text))}
	if f.late != nil {
		a.deeds = f.late.acted(f.acts(text), true)
	}
	if plan == nil {
		f.push(owedQuery, a)
		return nil
	}
	a.hide, a.tag = plan.Hidden(), plan.Tag()
	f.push(owedQuery, a)
	return appendFrame(nil, msgQuery, []byte(plan.SQL()), []byte{0})
}

func (f *clientFlow) parse(ctx context.Context, body []byte) []byte {
	name, rest, ok := cstring(body)
	if !ok {
		f.push(owedParse, nil)
		return nil
	}
	text, types, ok := cstring(rest)
	if !ok {
		f.push(owedParse, nil)
		return nil
	}
	voids := voidParams(types)
	plan := f.plan(ctx, text, false, voids)
	if !f.planned {
		f.push(owedParse, nil)
		return nil
	}
	a := &about{
		plan: plan, statement: nameKey(name), deallocated: deallocatedNames(string(text)),
	}
	if f.latePlan(plan); f.late != nil {
		a.deeds = f.late.parsed(a.statement, plan, voids, f.acts(text))
	}
	f.push(owedParse, a)
	if plan == nil {
		return nil
	}
	return appendFrame(nil, msgParse, name, []byte{0}, []byte(plan.SQL()), []byte{0}, types)
}

// longParse notes a Parse whose text is too long to be looked at.
func (f *clientFlow) longParse(head []byte) {
	name, _, ok := cstring(head)
	if !ok {
		f.push(owedParse, nil)
		return
	}
	a := &about{statement: nameKey(name)}
	if f.late != nil {
		a.deeds = f.late.parsed(a.statement, nil, nil, nil)
	}
	f.push(owedParse, a)
}

// plan asks the Rewriter about text; voids is what a Parse says of its parameters.
func (f *clientFlow) plan(ctx context.Context, text []byte, simple bool, voids []int) Plan {
	if !f.rewriter.Mentions(text) {
		return nil
	}
	plan := f.rewriter.Rewrite(ctx, f.context(simple, voids), string(text))
	if plan != nil {
		f.planned = true
	}
	return plan
}

func (f *clientFlow) context(simple bool, voids []int) StatementContext {
	set := f.settings.Load()
	return StatementContext{
		User: f.user, Database: f.database, Encoding: set.textEncoding(), EscapeStrings: set.escapeStrings,
		Simple: simple, VoidParams: voids, Answer: f.answer(),
	}
}

// acts is actsOf with the session's settings.
func (f *clientFlow) acts(text []byte) []act {
	return actsOf(string(text), f.settings.Load().escapeStrings)
}

// oidVoid is VOIDOID of the server's pg_type.
const oidVoid = 2278

// voidParams returns the numbers of the parameters that the end of a Parse declares as void.
func voidParams(types []byte) (numbers []int) {
	if len(types) < 2 {
		return nil
	}
	count := int(binary.BigEndian.Uint16(types))
	for i, rest := 1, types[2:]; i <= count && len(rest) >= 4; i, rest = i+1, rest[4:] {
		if binary.BigEndian.Uint32(rest) == oidVoid {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

func (f *clientFlow) bind(ctx context.Context, frame []byte) (err error) {
	a := new(about)
	if portal, statement, _, ok := bindNames(frame[headerSize:]); ok {
		a.portal, a.statement = nameKey(portal), nameKey(statement)
		if f.late != nil {
			err = f.lateBound(ctx, frame, a)
		}
	}
	f.push(owedBind, a)
	return err
}

// execute returns the Execute with the messages of a step before it, if it needs one.
func (f *clientFlow) execute(frame []byte) (replacement []byte, err error) {
	a := new(about)
	if portal, _, ok := cstring(frame[headerSize:]); ok {
		a.portal = nameKey(portal)
		if f.late != nil {
			replacement, err = f.lateExecute(portal, a)
		}
	}
	f.push(owedExecute, a)
	if replacement != nil {
		replacement = append(replacement, frame...)
	}
	return replacement, err
}

// named notes a Describe or Close, whose body is 'S' or 'P' and a name.
func (f *clientFlow) named(kind replyKind, body []byte) {
	a := new(about)
	if len(body) > 0 {
		if name, _, ok := cstring(body[1:]); ok {
			if a.ofPortal = body[0] == 'P'; a.ofPortal {
				a.portal = nameKey(name)
			} else {
				a.statement = nameKey(name)
			}
			if f.late != nil && kind == owedClose {
				a.deeds = f.late.closed(a)
			}
		}
	}
	f.push(kind, a)
}
