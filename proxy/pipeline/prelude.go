package pipeline

import (
	"crypto/rand"

	"mbusproxy/proxy/wire"
)

// ownName is the statement and portal of the proxy's own statements in the session, which follow each other;
// the unnamed ones are the client's. Nobody outside the session can know it, and so no client can have
// chosen it.
func (f *ClientFlow) ownName() string {
	if f.private == "" {
		f.private = "_mbus4_" + rand.Text()
	}
	return f.private
}

// inject returns the messages that run the prelude statement of b before the portal is executed for the first time, and
// notes them. b.run is done when it has run.
//
// First comes a Describe of the portal: if it is not there, or the transaction has failed, that
// gives the error which the client's Execute would have given, and no step runs. The Close that
// follows removes what a step that failed may have left; nothing need be there to be closed.
func (f *ClientFlow) inject(portal []byte, b *binding) []byte {
	step := b.prelude
	ours := &details{plan: step}
	out := wire.AppendFrame(nil, wire.MsgDescribe, []byte("P"), portal, []byte{0})
	f.hide(kindDescribe, &details{portal: nameKey(portal), ofPortal: true})
	out = f.runHidden(out, step.SQL(), ours, &details{plan: step, run: b.run})
	if b.again != nil {
		out = append(out, b.again...)
		f.hide(kindBind, ours)
	}
	return out
}

// hide notes a message of ours, whose replies are not for the client.
func (f *ClientFlow) hide(kind requestKind, a *details) {
	if f.bindTime != nil {
		f.bindTime.sent(kind)
	}
	f.add(request{kind: kind, hidden: true, details: a})
}

// runHidden appends the messages that run a statement of ours under our own name, and notes them: run is about
// the Execute, ours about the others.
func (f *ClientFlow) runHidden(out []byte, sql string, ours, run *details) []byte {
	name := []byte(f.ownName() + "\x00")
	out = wire.AppendFrame(out, wire.MsgClose, []byte("S"), name)
	f.hide(kindClose, ours)
	out = wire.AppendFrame(out, wire.MsgParse, name, []byte(sql), []byte{0, 0, 0})
	f.hide(kindParse, ours)
	out = wire.AppendFrame(out, wire.MsgBind, name, name, []byte{0, 0, 0, 0, 0, 0})
	f.hide(kindBind, ours)
	out = wire.AppendFrame(out, wire.MsgExecute, name, []byte{0, 0, 0, 0})
	f.hide(kindExecute, run)
	out = wire.AppendFrame(out, wire.MsgClose, []byte("S"), name)
	f.hide(kindClose, ours)
	out = wire.AppendFrame(out, wire.MsgClose, []byte("P"), name)
	f.hide(kindClose, ours)
	return out
}
