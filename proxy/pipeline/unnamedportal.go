package pipeline

import (
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/wire"
)

// A Query leaves no unnamed portal, says the manual. One that fails in a transaction block does: the
// server keeps its portal until the block ends, although the memory of the statement is gone. Who
// executes that has the server read what is there now, and servers up to 18 can crash by it, with
// all sessions of the cluster. A Query that a statement of ours runs may leave a portal, too, where
// the client's own would have left none.
//
// So the proxy closes the unnamed portal before a client uses what a Query may have left, and the
// server says that there is none. To close one that is not there is no error. One that the client
// had before a Query that failed is closed as well, whether or not the server has dropped it: in a
// block that has failed nothing can be done with it but to end the block.

// unnamedPortal is what a ClientFlow knows of the unnamed portal.
type unnamedPortal struct {
	// left says that a Query may have left it, and that the client has not bound it since then.
	left bool
	// changes are the messages by which left changes, and that may fail or be skipped by the server.
	changes []portalChange
	// latest is the last of the changes sent since the last Sync: whatever follows it finds it done, or is skipped.
	latest portalState
	// fresh says that the feed under way has sent a Query.
	fresh bool
}

// portalChange is a Bind of the unnamed portal, or a Query.
type portalChange struct {
	*requests.Outcome
	to portalState
}

// portalState is what a message makes of the unnamed portal.
type portalState uint8

const (
	portalAsBefore portalState = iota
	portalBound
	portalLeft
)

// queried is called with each Query of the client's before it is noted, and with what takes the
// place of one; skippable says that the server may skip it. The result is nil or goes into the
// details of the Query.
func (p *unnamedPortal) queried(skippable bool) *requests.Outcome {
	p.fresh = true
	if skippable {
		return p.change(portalLeft)
	}
	*p = unnamedPortal{left: true, fresh: true}
	return nil
}

func (p *unnamedPortal) change(to portalState) *requests.Outcome {
	o := requests.NewOutcome()
	p.changes, p.latest = append(p.changes, portalChange{o, to}), to
	return o
}

// settle applies the changes that are known, and returns the first that is not; nil for none.
func (p *unnamedPortal) settle() *portalChange {
	for len(p.changes) > 0 {
		switch p.changes[0].Is() {
		case requests.Done:
			p.left = p.changes[0].to == portalLeft
		case requests.Unclear: // a COPY has failed: that nothing is there is an error at worst
			p.left = true
		case requests.Pending:
			return &p.changes[0]
		}
		p.changes = p.changes[1:]
	}
	p.changes = nil
	return nil
}

// mayBeLeft reports whether a Query may have left the unnamed portal.
func (f *ClientFlow) mayBeLeft() bool {
	p := &f.portal
	if !p.left && len(p.changes) == 0 {
		return false
	}
	if !p.fresh && f.before.Flushing == 0 && !f.before.copies && !f.before.failed {
		*p = unnamedPortal{} // all Queries have been answered, and no block has failed
		return false
	}
	return p.settle() != nil || p.left
}

// bindsPortal is called with the details of each Bind of the unnamed portal before it is noted.
func (f *ClientFlow) bindsPortal(a *details) {
	if f.mayBeLeft() && f.portal.latest != portalBound {
		a.unnamed = f.portal.change(portalBound)
	}
}

// awaitsPortal returns the outcome that must be known before the message, or the head of it, can be
// looked at: it uses the unnamed portal, and it is not known whether that is the client's.
func (f *ClientFlow) awaitsPortal(frame []byte) (wait *requests.Outcome) {
	if !usesUnnamedPortal(frame) || !f.mayBeLeft() || f.portal.latest != portalAsBefore {
		return nil
	}
	if change := f.portal.settle(); change != nil {
		return change.Outcome // a Sync was sent behind it, so the reply will come
	}
	return nil
}

// closeLeft returns what is to be sent before a message that uses the unnamed portal, and notes it; nil for nothing.
func (f *ClientFlow) closeLeft(frame []byte) []byte {
	if !usesUnnamedPortal(frame) || !f.mayBeLeft() || f.portal.latest == portalBound || f.before.copies { // where the server takes neither
		return nil
	}
	f.pushHidden(requests.Close, nil)
	return wire.AppendFrame(nil, wire.MsgClose, []byte("P\x00"))
}

// unplanned notes a Bind, Describe or Execute in a session that has had no Plan, and returns what
// takes the place of its head; nil for itself.
func (f *ClientFlow) unplanned(frame []byte) (replacement []byte) {
	if replacement = f.closeLeft(frame); replacement != nil {
		replacement = append(replacement, frame...)
	}
	a := new(details)
	if bindsUnnamedPortal(frame) {
		f.bindsPortal(a)
	}
	if a.unnamed == nil {
		a = nil
	}
	f.push(requests.KindOf(frame[0]), a)
	return replacement
}

// portalHead is how much of a message has to be seen to know whether it is about the unnamed portal.
const portalHead = wire.HeaderSize + 2

// usesUnnamedPortal reports whether a message, or the head of it, executes or describes the unnamed portal.
func usesUnnamedPortal(frame []byte) bool {
	body := frame[wire.HeaderSize:]
	switch frame[0] {
	case wire.MsgExecute:
		return len(body) > 0 && body[0] == 0
	case wire.MsgDescribe:
		return len(body) > 1 && body[0] == 'P' && body[1] == 0
	}
	return false
}

// bindsUnnamedPortal reports whether a message, or the head of it, binds the unnamed portal.
func bindsUnnamedPortal(frame []byte) bool {
	return frame[0] == wire.MsgBind && len(frame) > wire.HeaderSize && frame[wire.HeaderSize] == 0
}
