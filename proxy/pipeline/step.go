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

// inject returns the messages that run the step of m before the portal is executed for the first time, and
// notes them. run is done when the step has run.
//
// First comes a Describe of the portal: if it is not there, or the transaction has failed, that
// gives the error which the client's Execute would have given, and no step runs. The Close that
// follows removes what a step that failed may have left; nothing need be there to be closed.
func (f *ClientFlow) inject(portal []byte, m *meaning, run *deed) []byte {
	step := m.step
	ours := &about{plan: step}
	out := wire.AppendFrame(nil, wire.MsgDescribe, []byte("P"), portal, []byte{0})
	f.hide(owedDescribe, &about{portal: nameKey(portal), ofPortal: true})
	out = f.runHidden(out, step.SQL(), ours, &about{plan: step, deeds: []*deed{run}})
	if m.again != nil {
		out = append(out, m.again...)
		f.hide(owedBind, ours)
	}
	return out
}

// hide notes a message of ours, whose replies are not for the client.
func (f *ClientFlow) hide(kind replyKind, a *about) {
	if f.late != nil {
		f.late.sent(kind)
	}
	f.add(owed{kind: kind, hidden: true, about: a})
}

// runHidden appends the messages that run a statement of ours under our own name, and notes them: run is about
// the Execute, ours about the others.
func (f *ClientFlow) runHidden(out []byte, sql string, ours, run *about) []byte {
	name := []byte(f.ownName() + "\x00")
	out = wire.AppendFrame(out, wire.MsgClose, []byte("S"), name)
	f.hide(owedClose, ours)
	out = wire.AppendFrame(out, wire.MsgParse, name, []byte(sql), []byte{0, 0, 0})
	f.hide(owedParse, ours)
	out = wire.AppendFrame(out, wire.MsgBind, name, name, []byte{0, 0, 0, 0, 0, 0})
	f.hide(owedBind, ours)
	out = wire.AppendFrame(out, wire.MsgExecute, name, []byte{0, 0, 0, 0})
	f.hide(owedExecute, run)
	out = wire.AppendFrame(out, wire.MsgClose, []byte("S"), name)
	f.hide(owedClose, ours)
	out = wire.AppendFrame(out, wire.MsgClose, []byte("P"), name)
	f.hide(owedClose, ours)
	return out
}
