package proxy

import (
	"context"
	"errors"
	"slices"
)

// lateFlow is what a clientFlow keeps in a session that has had a late plan: the statements and
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

// maxSteps is how many portals with a step not known to have ended a session may have.
const maxSteps = 512

// errTooManySteps ends a session with more than maxSteps.
var errTooManySteps = errors.New("too many open portals of statements that need a step")

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
func (f *clientFlow) latePlan(plan Plan) {
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

// acted notes what the statements of a Query or of a portal do to names.
func (l *lateFlow) acted(acts []act, simple bool) (deeds []*deed) {
	matter := false
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
		return nil
	}
	return deeds
}

// unsettled returns the deed whose outcome must be known before the message, or the head of it, can
// be looked at; nil for none.
func (l *lateFlow) unsettled(frame []byte) (wait *deed, err error) {
	body := frame[headerSize:]
	switch frame[0] {
	case msgBind:
		_, statement, _, ok := bindNames(body)
		if !ok {
			return nil, unread(frame)
		}
		_, wait, err = l.statements.look(nameKey(statement), l.segment)
		return wait, err
	case msgExecute:
		portal, _, ok := cstring(body)
		if !ok {
			return nil, unread(frame)
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
	case msgParse:
		if _, _, ok := cstring(body); !ok {
			return nil, unread(frame)
		}
	case msgClose:
		if _, _, ok := cstring(body[min(1, len(body)):]); !ok {
			return nil, unread(frame)
		}
	}
	return nil, nil
}

// unread is the error for a message whose names do not lie in the part that was gathered. A whole
// one is malformed, and then the server says so.
func unread(frame []byte) error {
	if isWhole(frame) {
		return nil
	}
	return errUnclear
}

// isWhole reports whether frame is a message and not only the head of one.
func isWhole(frame []byte) bool {
	size, _ := frameLen(frame)
	return len(frame) == size
}

// asks reports whether lateBound would ask a late plan about the message, as far as is known.
func (l *lateFlow) asks(frame []byte) bool {
	if frame[0] != msgBind {
		return false
	}
	_, statement, _, ok := bindNames(frame[headerSize:])
	if !ok {
		return false
	}
	meant, _, _ := l.statements.look(nameKey(statement), l.segment)
	return meant != nil && meant.means.late != nil
}

// wholeBind gathers all of a Bind for a late plan of which next returned only the head, unless it
// is too long. The result is as that of framer.next.
func (f *clientFlow) wholeBind(buf, frame []byte, pos int, out *assembly) (whole []byte, at int) {
	if frame[0] != msgBind || isWhole(frame) || !f.late.asks(frame) {
		return frame, pos
	}
	if size, _ := frameLen(frame); size > maxText {
		return frame, pos
	}
	return f.whole(buf, frame, pos, out)
}

// lateBound notes a Bind and asks the plan for the step if it is late.
func (f *clientFlow) lateBound(ctx context.Context, frame []byte, a *about) (err error) {
	l := f.late
	meant, _, err := l.statements.look(a.statement, l.segment)
	if err != nil {
		return err
	}
	var m meaning
	if meant != nil {
		m.act = meant.means.act
		if plan := meant.means.late; plan != nil {
			values, ok := Values{}, true
			if isWhole(frame) {
				values, ok = ReadValues(frame[headerSize:])
			}
			if ok { // else the server refuses it
				m.step = plan.Bound(ctx, f.context(false, meant.means.voids), values)
				if m.step != nil && plan.EndsTransaction() && isWhole(frame) {
					m.again = slices.Clone(frame)
				}
			}
		}
	}
	a.deeds = l.portals.note(a.portal, l.segment, m)
	if m.step != nil && len(l.portals.names) > maxSteps && l.portals.sweep() > maxSteps {
		return errTooManySteps
	}
	return nil
}

// lateExecute notes an Execute of the portal with the given full name and returns the messages of
// the step that must come before it.
func (f *clientFlow) lateExecute(portal []byte, a *about) (before []byte, err error) {
	l := f.late
	meant, _, err := l.portals.look(a.portal, l.segment)
	if meant == nil || err != nil {
		return nil, err
	}
	if meant.means.step != nil && (meant.run == nil || meant.run.outcome.Load() == deedUndone) {
		meant.run = newDeed(l.segment, "", meaning{})
		before = f.inject(portal, &meant.means, meant.run)
	}
	if meant.means.act != nil {
		a.deeds = l.acted([]act{*meant.means.act}, false)
	}
	return before, nil
}
