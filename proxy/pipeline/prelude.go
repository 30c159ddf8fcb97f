package pipeline

import (
	"crypto/rand"

	"mbusproxy/proxy/pipeline/names"
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// ownName is the name of the prepared statement and of the portal by which the proxy runs its own statements in the
// session, one after the other; the unnamed ones are the client's. It is random and known to the session only, so no
// client can have chosen it.
func (f *ClientFlow) ownName() string {
	if f.private == "" {
		f.private = "_mbus4_" + rand.Text()
	}
	return f.private
}

// runPrelude returns the messages that run the prelude statements of b before the portal is executed
// for the first time, and notes them. b.run is done when the last one has run.
//
// First comes a Describe of the portal: if it is not there, or the transaction has failed, that gives the error which
// the client's Execute would have given, and the prelude statement does not run. The Close that follows removes what
// another statement of ours that failed may have left; closing a name that is not there is no error.
func (f *ClientFlow) runPrelude(portal []byte, b *names.Binding) []byte {
	ours := &details{plan: b.Prelude}
	out := wire.AppendFrame(nil, wire.MsgDescribe, []byte("P"), portal, []byte{0})
	f.pushHidden(requests.Describe, &details{Use: names.Use{Portal: names.Key(portal), OfPortal: true}})
	for p := b.Prelude; p != nil; {
		run, next := &details{plan: p}, statements.Next(p)
		if next == nil {
			run.run = b.Run
		}
		out = f.runHidden(out, p.SQL(), &details{plan: p}, run)
		p = next
	}
	if b.Again != nil {
		out = append(out, b.Again...)
		f.pushHidden(requests.Bind, ours)
	}
	return out
}

// pushHidden notes a message of ours; of its replies the client gets errors and notices only.
func (f *ClientFlow) pushHidden(kind requests.Kind, a *details) {
	if f.bindTime != nil {
		f.bindTime.sent(kind)
	}
	f.unsent.clean = false
	f.add(request{kind: kind, hidden: true, details: a})
}

// noTypes says of no parameter of a Parse which type it has.
var noTypes = []byte{0, 0} //nolint:gochecknoglobals // constant

// parseHidden appends the messages that prepare a statement of ours under a name, in place of what
// has been prepared under it, and notes them. types are those of its parameters, as in a Parse.
func (f *ClientFlow) parseHidden(out, name []byte, sql string, types []byte, ours *details) []byte {
	out = wire.AppendFrame(out, wire.MsgClose, []byte("S"), name)
	f.pushHidden(requests.Close, ours)
	out = wire.AppendFrame(out, wire.MsgParse, name, []byte(sql), []byte{0}, types)
	f.pushHidden(requests.Parse, ours)
	return out
}

// executeHidden appends the messages that run a statement of ours without parameters in a portal,
// and notes them: run are the details of the Execute, ours those of the Bind.
func (f *ClientFlow) executeHidden(out, portal, name []byte, ours, run *details) []byte {
	out = wire.AppendFrame(out, wire.MsgBind, portal, name, []byte{0, 0, 0, 0, 0, 0})
	f.pushHidden(requests.Bind, ours)
	out = wire.AppendFrame(out, wire.MsgExecute, portal, []byte{0, 0, 0, 0})
	f.pushHidden(requests.Execute, run)
	return out
}

// runHidden appends the messages that run a statement of ours under our own name, and notes them:
// run are the details of the Execute, ours those of the others.
func (f *ClientFlow) runHidden(out []byte, sql string, ours, run *details) []byte {
	name := []byte(f.ownName() + "\x00")
	out = f.parseHidden(out, name, sql, noTypes, ours)
	out = f.executeHidden(out, name, name, ours, run)
	out = wire.AppendFrame(out, wire.MsgClose, []byte("S"), name)
	f.pushHidden(requests.Close, ours)
	out = wire.AppendFrame(out, wire.MsgClose, []byte("P"), name)
	f.pushHidden(requests.Close, ours)
	return out
}
