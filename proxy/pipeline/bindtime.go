package pipeline

import (
	"context"
	"slices"

	"mbusproxy/proxy/pipeline/names"
	"mbusproxy/proxy/pipeline/refuse"
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// bindTime is what a ClientFlow keeps in a session that has had a bind-time plan; names holds the statements and
// portals that prelude statements may belong to.
type bindTime struct {
	// segment counts the Syncs sent; unsynced is set when requests that may have failed were sent after the last.
	segment  uint64
	unsynced bool
}

// sent keeps segment and unsynced up to date, for each request: a Sync begins a new segment.
func (t *bindTime) sent(kind requests.Kind) {
	switch {
	case kind == requests.Sync:
		t.segment++
		t.unsynced = false
	case kind.Extended():
		t.unsynced = true
	}
}

// await waits for the awaited outcome; false means that the session has ended.
func (f *ClientFlow) await(ctx context.Context) bool {
	o := f.awaited
	f.awaited = nil
	select {
	case <-o.Known():
		return true
	case <-ctx.Done():
		return false
	}
}

// followNames begins to keep names with the session's first bind-time plan. It comes before the
// Parse is noted, so that the name of this one is kept.
func (f *ClientFlow) followNames(plan statements.Plan) {
	if f.bindTime == nil && plan != nil && plan.BindTime() {
		f.bindTime = &bindTime{unsynced: true} // what was sent before is not known
	}
}

// statementOf and portalOf return what a name stands for, as names.Table.Look does.
func (f *ClientFlow) statementOf(key string) (b *names.Binding, wait *requests.Outcome, err error) {
	return f.names.Look(false, key, f.bindTime.segment)
}

func (f *ClientFlow) portalOf(key string) (b *names.Binding, wait *requests.Outcome, err error) {
	return f.names.Look(true, key, f.bindTime.segment)
}

// unsettled returns the outcome that must be known before the message, or the head of it, can
// be looked at; nil for none.
func (f *ClientFlow) unsettled(frame []byte) (wait *requests.Outcome, err error) {
	body := frame[wire.HeaderSize:]
	switch frame[0] {
	case wire.MsgBind:
		_, statement, _, ok := wire.BindNames(body)
		if !ok {
			return nil, namesLost(frame)
		}
		_, wait, err = f.statementOf(names.Key(statement))
		return wait, err
	case wire.MsgExecute:
		portal, _, ok := wire.CString(body)
		if !ok {
			return nil, namesLost(frame)
		}
		b, wait, err := f.portalOf(names.Key(portal))
		if b == nil || wait != nil || err != nil || b.Run == nil {
			return wait, err
		}
		switch {
		case b.Run.Is() == requests.Pending && b.Run.Segment != f.bindTime.segment:
			return b.Run.Outcome, nil
		case b.Run.Is() == requests.Unclear:
			return nil, names.ErrUnclear
		}
	case wire.MsgParse:
		if _, _, ok := wire.CString(body); !ok {
			return nil, namesLost(frame)
		}
	case wire.MsgClose:
		if _, _, ok := wire.CString(body[min(1, len(body)):]); !ok {
			return nil, namesLost(frame)
		}
	}
	return nil, nil
}

// namesLost is the error for a message whose names do not lie in the part that was buffered. If it is the whole
// message it is malformed, and then the server says so.
func namesLost(frame []byte) error {
	if isWhole(frame) {
		return nil
	}
	return names.ErrUnclear
}

// isWhole reports whether frame is a message and not only the head of one.
func isWhole(frame []byte) bool {
	size, _ := wire.FrameLen(frame)
	return len(frame) == size
}

// bindTimeText returns the text of the statement that a Bind names if bindPrelude would ask its plan, as far as is
// known; nil: it would not, or the message is no Bind. By the next call the server may have said that there is no
// such statement.
func (f *ClientFlow) bindTimeText(frame []byte) *names.Text {
	if f.bindTime == nil || frame[0] != wire.MsgBind {
		return nil
	}
	_, statement, _, ok := wire.BindNames(frame[wire.HeaderSize:])
	if !ok {
		return nil
	}
	if b, _, _ := f.statementOf(names.Key(statement)); b != nil && b.Text.BindTime() != nil {
		return b.Text
	}
	return nil
}

// wholeBind buffers all of a Bind for a bind-time plan of which Next returned only the head, unless it
// is too long. The result is as that of Framer.Next.
func (f *ClientFlow) wholeBind(buf, frame []byte, pos int, out *wire.Splicer) (whole []byte, at int) {
	if frame[0] != wire.MsgBind || isWhole(frame) || f.short || f.bindTimeText(frame) == nil {
		return frame, pos
	}
	if size, _ := wire.FrameLen(frame); size > wire.MaxText {
		return frame, pos
	}
	return f.Whole(buf, frame, pos, out)
}

// bindPrelude notes a Bind, and asks the plan of the statement for the prelude statement if it is a
// bind-time plan. refused is what the Bind fails with.
func (f *ClientFlow) bindPrelude(ctx context.Context, frame []byte, a *details) (refused statements.Plan, err error) {
	statement, _, err := f.statementOf(a.Statement)
	if err != nil {
		return nil, err
	}
	b := &names.Binding{Portal: true, Name: a.Portal, Segment: f.bindTime.segment}
	if statement != nil {
		if statement.Unknown {
			return refuse.NotKnown("prepared statement", a.Statement), nil
		}
		b.Text = statement.Text
	}
	if plan := b.Text.BindTime(); plan != nil {
		values, ok := wire.Values{}, true
		if isWhole(frame) {
			values, ok = wire.ReadValues(frame[wire.HeaderSize:])
		}
		if ok { // else the server refuses it
			prelude, canceled := f.prelude(ctx, plan, b.Text.Voids, values)
			if canceled != nil {
				return canceled, nil
			}
			b.Prelude = prelude
			if prelude != nil && plan.EndsTransaction() && isWhole(frame) {
				b.Again = slices.Clone(frame)
			}
		}
	}
	if b.Prelude != nil && !f.names.RoomForPrelude(b) {
		return refuse.TooManyPreludes(names.MaxPreludes), nil
	}
	a.Bindings = f.names.Note(b)
	return nil, nil
}

// executePrelude notes an Execute of the portal with the given full name and returns the messages of
// the prelude statement that must come before it. refused is what the Execute fails with.
func (f *ClientFlow) executePrelude(portal []byte, a *details) (before []byte, refused statements.Plan, err error) {
	b, _, err := f.portalOf(a.Portal)
	if b == nil || err != nil {
		return nil, nil, err
	}
	if b.Unknown {
		return nil, refuse.NotKnown("portal", a.Portal), nil
	}
	if b.Prelude != nil && (b.Run == nil || b.Run.Is() == requests.Undone) {
		b.Run = &names.Run{Outcome: requests.NewOutcome(), Segment: f.bindTime.segment}
		before = f.runPrelude(portal, b)
	}
	if b.Text != nil {
		if b.Text.Effect != nil {
			a.Bindings = f.noteEffects([]statements.Effect{*b.Text.Effect}, false)
		}
		if b.Text.Renames {
			f.names.RebindAny()
		}
	}
	return before, nil, nil
}
