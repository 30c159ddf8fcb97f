package pipeline

import (
	"context"
	"slices"

	"mbusproxy/proxy/wire"
)

// lateFlow is what a ClientFlow keeps in a session that has had a late plan: the statements and
// portals that steps may belong to.
type lateFlow struct {
	statements register
	portals    register
	// segment counts the Syncs sent; unsynced is set when messages that may have failed came
	// after the last.
	segment  uint64
	unsynced bool
	// awaited is the deed whose outcome the message set aside depends on.
	awaited *deed
}

// MaxSteps is how many portals with a step not known to have ended a session may have.
const MaxSteps = 512

// A session may have maxLate statements whose meaning matters to steps, with maxLateSize bytes of text.
const (
	maxLate     = 1024
	maxLateSize = 512 << 10
)

// crowded reports that there is no room for a statement of that name, if it matters.
func (l *lateFlow) crowded(name string, plan Plan, acts []act) bool {
	late := plan != nil && plan.Late()
	if !late && len(acts) == 0 || name == "" {
		return false
	}
	if l.statements.find(name) == nil && len(l.statements.names) >= maxLate && l.statements.sweep() >= maxLate {
		return true
	}
	if !late {
		return false
	}
	size := len(plan.SQL())
	for other, h := range l.statements.names {
		if other != name {
			size += h.size()
		}
	}
	return size > maxLateSize
}

// sent is called for each message that is noted.
func (l *lateFlow) sent(kind replyKind) {
	switch {
	case kind == owedSync:
		l.segment++
		l.unsynced = false
	case kind.extended():
		l.unsynced = true
	}
}

// await waits for the awaited deed; false means that the session has ended.
func (l *lateFlow) await(ctx context.Context) bool {
	d := l.awaited
	l.awaited = nil
	select {
	case <-d.known:
		return true
	case <-ctx.Done():
		return false
	}
}

// latePlan is called with each Plan of a Parse before the Parse is noted.
func (f *ClientFlow) latePlan(plan Plan) {
	if f.late == nil && plan != nil && plan.Late() {
		f.late = &lateFlow{unsynced: true} // what came before was not looked at
	}
}

// parsed notes a Parse.
func (l *lateFlow) parsed(name string, plan Plan, voids []int, acts []act) []*deed {
	var m meaning
	if plan != nil && plan.Late() {
		m.late, m.voids = plan, voids
	}
	if len(acts) > 0 { // a Parse with several statements fails
		m.act = &acts[0]
	}
	return l.statements.note(name, l.segment, m)
}

// closed notes a Close.
func (l *lateFlow) closed(a *about) []*deed {
	if a.ofPortal {
		return l.portals.note(a.portal, l.segment, meaning{})
	}
	return l.statements.note(a.statement, l.segment, meaning{})
}

// acted notes what the statements of a Query or of a portal do to names; ok is false when there are too many.
func (l *lateFlow) acted(acts []act, simple bool) (deeds []*deed, ok bool) {
	matter := false
	if len(acts) > maxActs {
		return nil, len(l.statements.names) == 0 && len(l.portals.names) == 0
	}
	for _, a := range acts {
		// The place in the order of tags is kept for those that do not matter, too.
		d := newDeed(l.segment, a.tag, meaning{})
		d.simple, d.doubtful = simple, l.unsynced
		deeds = append(deeds, d)
		names := &l.statements
		if a.portal {
			names = &l.portals
		}
		if h := names.find(a.name); h != nil && a.name != "" {
			h.underWay = append(h.underWay, d)
			matter = true
		}
	}
	if !matter {
		return nil, true
	}
	return deeds, true
}

// unsettled returns the deed whose outcome must be known before the message, or the head of it, can
// be looked at; nil for none.
func (l *lateFlow) unsettled(frame []byte) (wait *deed, err error) {
	body := frame[wire.HeaderSize:]
	switch frame[0] {
	case wire.MsgBind:
		_, statement, _, ok := wire.BindNames(body)
		if !ok {
			return nil, namesLost(frame)
		}
		_, wait, err = l.statements.look(nameKey(statement), l.segment)
		return wait, err
	case wire.MsgExecute:
		portal, _, ok := wire.CString(body)
		if !ok {
			return nil, namesLost(frame)
		}
		meant, wait, err := l.portals.look(nameKey(portal), l.segment)
		if meant == nil || wait != nil || err != nil || meant.run == nil {
			return wait, err
		}
		switch {
		case meant.run.pending() && meant.run.segment != l.segment:
			return meant.run, nil
		case meant.run.outcome.Load() == deedUnclear:
			return nil, errUnclear
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

// namesLost is the error for a message whose names do not lie in the part that was gathered. A whole
// one is malformed, and then the server says so.
func namesLost(frame []byte) error {
	if isWhole(frame) {
		return nil
	}
	return errUnclear
}

// isWhole reports whether frame is a message and not only the head of one.
func isWhole(frame []byte) bool {
	size, _ := wire.FrameLen(frame)
	return len(frame) == size
}

// asks reports whether lateBound would ask a late plan about the message, as far as is known.
func (l *lateFlow) asks(frame []byte) bool {
	if frame[0] != wire.MsgBind {
		return false
	}
	_, statement, _, ok := wire.BindNames(frame[wire.HeaderSize:])
	if !ok {
		return false
	}
	meant, _, _ := l.statements.look(nameKey(statement), l.segment)
	return meant != nil && meant.means.late != nil
}

// wholeBind gathers all of a Bind for a late plan of which next returned only the head, unless it
// is too long. The result is as that of wire.Framer.Next.
func (f *ClientFlow) wholeBind(buf, frame []byte, pos int, out *wire.Splicer) (whole []byte, at int) {
	if frame[0] != wire.MsgBind || isWhole(frame) || f.short || !f.late.asks(frame) {
		return frame, pos
	}
	if size, _ := wire.FrameLen(frame); size > wire.MaxText {
		return frame, pos
	}
	return f.Whole(buf, frame, pos, out)
}

// lateBound notes a Bind and asks the plan for the step if it is late. refused is what the Bind fails with.
func (f *ClientFlow) lateBound(ctx context.Context, frame []byte, a *about) (refused Plan, err error) {
	l := f.late
	meant, _, err := l.statements.look(a.statement, l.segment)
	if err != nil {
		return nil, err
	}
	var m meaning
	acts := false
	if meant != nil {
		if meant.means.clouded {
			return notKnown("prepared statement", a.statement), nil
		}
		m.act, m.unread, acts = meant.means.act, meant.means.unread, meant.acts
		if plan := meant.means.late; plan != nil {
			values, ok := wire.Values{}, true
			if isWhole(frame) {
				values, ok = wire.ReadValues(frame[wire.HeaderSize:])
			}
			if ok { // else the server refuses it
				step, canceled := f.bound(ctx, plan, meant.means.voids, values)
				if canceled != nil {
					return canceled, nil
				}
				m.step = step
				if m.step != nil && plan.EndsTransaction() && isWhole(frame) {
					m.again = slices.Clone(frame)
				}
			}
		}
	}
	if m.step != nil && (len(l.portals.names) >= MaxSteps && l.portals.find(a.portal) == nil && l.portals.sweep() >= MaxSteps ||
		len(m.again) > 0 && l.again(a.portal)+len(m.again) > maxAgain) {
		return tooManySteps(), nil
	}
	a.deeds = l.portals.note(a.portal, l.segment, m)
	if acts && len(a.deeds) > 0 {
		a.deeds[0].acts = true
	}
	return nil, nil
}

// maxAgain bounds what a session keeps of Binds to be sent again, in bytes.
const maxAgain = wire.MaxText

// again is how many bytes are kept so for portals but the one named.
func (l *lateFlow) again(but string) (n int) {
	for name, h := range l.portals.names {
		if name != but {
			n += h.size()
		}
	}
	return n
}

// lateExecute notes an Execute of the portal with the given full name and returns the messages of
// the step that must come before it. refused is what the Execute fails with.
func (f *ClientFlow) lateExecute(portal []byte, a *about) (before []byte, refused Plan, err error) {
	l := f.late
	meant, _, err := l.portals.look(a.portal, l.segment)
	if meant == nil || err != nil {
		return nil, nil, err
	}
	if meant.means.clouded {
		return nil, notKnown("portal", a.portal), nil
	}
	if meant.means.step != nil && (meant.run == nil || meant.run.outcome.Load() == deedUndone) {
		meant.run = newDeed(l.segment, "", meaning{})
		before = f.inject(portal, &meant.means, meant.run)
	}
	if meant.means.act != nil {
		a.deeds, _ = l.acted([]act{*meant.means.act}, false)
	}
	if meant.acts {
		l.cloud()
	}
	return before, nil, nil
}
