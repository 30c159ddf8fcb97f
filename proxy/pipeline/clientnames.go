package pipeline

import (
	"context"

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
	if portal, statement, _, ok := wire.BindNames(frame[wire.HeaderSize:]); ok {
		a.portal, a.statement = nameKey(portal), nameKey(statement)
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
	a := &details{ofPortal: true}
	if portal, _, ok := wire.CString(frame[wire.HeaderSize:]); ok {
		a.portal = nameKey(portal)
		a.trace = f.traces.portals[a.portal]
		if f.bindTime != nil {
			var refused statements.Plan
			if replacement, refused, err = f.executePrelude(portal, a); refused != nil {
				return f.fail(refused), nil
			}
		}
	}
	f.prepared.near = nil // what runs now may take statements away
	f.push(requests.Execute, a)
	if replacement != nil {
		replacement = append(replacement, frame...)
	}
	return replacement, err
}

// named notes a Describe or Close, whose body is 'S' or 'P' and a name, and returns what takes its place; nil for itself.
func (f *ClientFlow) named(kind requests.Kind, body []byte) (replacement []byte) {
	a := new(details)
	if len(body) > 0 {
		if name, _, ok := wire.CString(body[1:]); ok {
			if a.ofPortal = body[0] == 'P'; a.ofPortal {
				a.portal = nameKey(name)
			} else {
				a.statement = nameKey(name)
				if kind == requests.Close && a.statement == "" {
					f.prepared.near = nil
				}
			}
			if f.bindTime != nil && kind == requests.Close {
				a.bindings = f.names.note(&binding{portal: a.ofPortal, name: nameKey(name), segment: f.bindTime.segment})
			}
		}
	}
	if kind == requests.Close {
		f.traceClose(a)
	}
	if kind == requests.Describe {
		replacement = f.describeUnnamed(body, a)
	}
	f.push(kind, a)
	return replacement
}
