package pipeline

import (
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/wire"
)

// Wants says how much of a message of type typ and the given total size must lie in one piece
// before it goes on: 0 means that the header is enough. A request that needs no more than that it notes.
func (f *ClientFlow) Wants(typ byte, size int) (gather int) {
	if f.unread != nil {
		f.readOn()
	}
	if f.unsent.undecided && f.Awaits() {
		return wire.Pause
	}
	f.unsent.keeping = f.unsent.keeping && keeps(typ)
	switch typ {
	case wire.MsgCopyData:
		return wire.PassRun
	case wire.MsgTerminate:
		if size == wire.HeaderSize { // with a body it is refused by the server
			return size
		}
		return 0
	}
	if p := f.probing.answered; f.before.skips && (p == nil || !p.skips) {
		f.probing.done() // the message that was asked about is skipped now
		f.Leave()
		if typ != wire.MsgSync {
			return 0
		}
		f.before.skips = false
	}
	if typ == wire.MsgCopyDone || typ == wire.MsgCopyFail {
		f.push(requests.CopyEnd, nil)
		return 0
	}
	kind := requests.KindOf(typ)
	if kind == 0 {
		return 0
	}
	if kind == requests.FunctionCall || size > wire.MaxNames {
		f.room = 0
	}
	if f.full() {
		return wire.Pause
	}
	switch kind {
	case requests.Query, requests.Parse:
		if f.rewriter != nil {
			if f.texts >= maxTexts {
				return wire.Pause
			}
			return wantsText(size)
		}
	case requests.Bind, requests.Describe, requests.Execute, requests.Close:
		if f.planned {
			return min(size, wire.MaxNames)
		}
		if kind != requests.Close && size > wire.HeaderSize && f.mayBeLeft() {
			return min(size, portalHead)
		}
	}
	f.push(kind, nil)
	return 0
}

// wantsText is Wants for a message with a text: all of it, or its head where it is too long to be read.
func wantsText(size int) (gather int) {
	if size > wire.MaxText {
		return wire.MaxNames
	}
	return size
}

// full reports that enough is outstanding. The client is then not read until the server has caught up, and a
// Flush makes the server send its replies, which it holds back until Sync.
func (f *ClientFlow) full() bool {
	return f.before.Outstanding+len(f.requests) >= maxOutstanding || f.before.size+f.requestsSize >= maxOutstandingBytes
}

// forRewriter reports whether inspect would call Rewrite for the message. Of a long one it says so
// without looking at it, because that takes time.
func (f *ClientFlow) forRewriter(frame []byte) bool {
	if frame[0] != wire.MsgQuery && frame[0] != wire.MsgParse || !isWhole(frame) {
		return false
	}
	return f.Nonblocking && len(frame) > 2*wire.MaxNames || f.rewriter.Mentions(frame[wire.HeaderSize:])
}

// maxCopyEnds is how many ends of COPY in a row are noted: more than statements of one Query take.
const maxCopyEnds = 1024

// push adds a request for a message of the client, and updates what depends on the order of messages.
func (f *ClientFlow) push(kind requests.Kind, a *details) {
	if kind.Flushes() {
		f.atHand.EndUnit()
	}
	if kind == requests.Query {
		if o := f.portal.queried(f.probing.unsynced || f.probing.copied); o != nil {
			if a == nil {
				a = new(details)
			}
			a.unnamed = o
		}
	}
	f.probing.note(kind)
	f.ranSinceSync = kind != requests.Sync && kind != requests.Query && (f.ranSinceSync || kind == requests.Bind || kind == requests.Execute)
	if kind != requests.CopyEnd {
		f.copyEnds = 0
	} else if f.copyEnds++; f.copyEnds > maxCopyEnds {
		return
	}
	if f.bindTime != nil {
		f.bindTime.sent(kind)
	}
	if !kind.Extended() {
		f.prepared.near = nil
	}
	if f.unsent.clean = false; f.unsent.keeping && kind == requests.Sync {
		f.keepSync()
	}
	f.add(request{kind: kind, details: a})
}

func (f *ClientFlow) add(o request) {
	if o.kind == requests.Sync {
		f.portal.latest = portalAsBefore
		if f.prepared.standIn != nil {
			f.prepared.standIn.parsed = false
		}
	}
	if o.details != nil {
		o.size = uint32(o.details.size())
		f.requestsSize += int(o.size)
	}
	f.requests = append(f.requests, o)
}
