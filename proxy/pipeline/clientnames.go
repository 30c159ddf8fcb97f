package pipeline

import (
	"context"

	"mbusproxy/proxy/pipeline/names"
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// bind notes a Bind and returns what takes its place where it is refused; nil nearly always.
func (f *ClientFlow) bind(ctx context.Context, frame []byte) (replacement []byte, err error) {
	if refused := f.refused; refused != nil {
		f.refused = nil
		return f.fail(refused), nil
	}
	a := new(details)
	if bindsUnnamedPortal(frame) {
		f.bindsPortal(a)
	}
	if portal, statement, _, ok := wire.BindNames(frame[wire.HeaderSize:]); ok {
		a.Portal, a.Statement = names.Key(portal), names.Key(statement)
		a.values = f.signalsOfValues(a.Statement, frame)
		if f.bindTime != nil {
			refused, err := f.bindPrelude(ctx, frame, a)
			if refused != nil {
				return f.fail(refused), nil
			}
			if err != nil {
				return nil, err
			}
		}
	}
	f.traceBind(frame, a)
	replacement = f.bindUnnamed(frame, a)
	f.push(requests.Bind, a)
	return replacement, nil
}

// execute notes an Execute and returns it with the messages of a prelude statement before it; nil where it needs none.
func (f *ClientFlow) execute(frame []byte) (replacement []byte, err error) {
	a := &details{Use: names.Use{OfPortal: true}}
	closed := f.closeLeft(frame)
	if portal, _, ok := wire.CString(frame[wire.HeaderSize:]); ok {
		a.Portal = names.Key(portal)
		a.trace = f.traces.portals[a.Portal]
		if f.bindTime != nil {
			var refused statements.Plan
			if replacement, refused, err = f.executePrelude(portal, a); refused != nil {
				return append(closed, f.fail(refused)...), nil
			}
		}
	}
	f.prepared.near = nil // what runs now may take statements away
	f.push(requests.Execute, a)
	if replacement = append(closed, replacement...); replacement != nil {
		replacement = append(replacement, frame...)
	}
	return replacement, err
}

// named notes a Describe or Close, whose body is 'S' or 'P' and a name, and returns what takes its
// place; nil for itself.
func (f *ClientFlow) named(kind requests.Kind, frame []byte) (replacement []byte) {
	body := frame[wire.HeaderSize:]
	a := new(details)
	if len(body) > 0 {
		if name, _, ok := wire.CString(body[1:]); ok {
			if a.OfPortal = body[0] == 'P'; a.OfPortal {
				a.Portal = names.Key(name)
			} else {
				a.Statement = names.Key(name)
				if kind == requests.Close && a.Statement == "" {
					f.prepared.near = nil
				}
			}
			if f.bindTime != nil && kind == requests.Close {
				a.Bindings = f.names.Note(&names.Binding{Portal: a.OfPortal, Name: names.Key(name), Segment: f.bindTime.segment})
			}
		}
	}
	if kind == requests.Close {
		f.traceClose(a)
		if !a.OfPortal {
			delete(f.values.statements, a.Statement)
		}
	}
	if kind == requests.Describe {
		if replacement = f.describeUnnamed(body, a); replacement == nil {
			if replacement = f.closeLeft(frame); replacement != nil {
				replacement = append(replacement, frame...)
			}
		}
	}
	f.push(kind, a)
	return replacement
}

// fail notes and returns a message at which the server fails, which takes the place of one of the extended protocol.
func (f *ClientFlow) fail(plan statements.Plan) []byte {
	f.push(requests.Parse, &details{Use: names.Use{Statement: f.ownName()}, plan: plan})
	return wire.AppendFrame(nil, wire.MsgParse, []byte(f.ownName()+"\x00"), []byte(plan.SQL()+"\x00"), []byte{0, 0})
}
