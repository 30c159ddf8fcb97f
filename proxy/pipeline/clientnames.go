package pipeline

import (
	"context"

	"mbusproxy/proxy/wire"
)

// bind returns what takes the place of a Bind that is refused, nil nearly always.
func (f *ClientFlow) bind(ctx context.Context, frame []byte) (replacement []byte, err error) {
	a := new(about)
	if portal, statement, _, ok := wire.BindNames(frame[wire.HeaderSize:]); ok {
		a.portal, a.statement = nameKey(portal), nameKey(statement)
		if f.late != nil {
			refused, err := f.lateBound(ctx, frame, a)
			if refused != nil {
				return f.fail(refused), nil
			}
			if err != nil {
				return nil, err
			}
		}
	}
	f.push(owedBind, a)
	return nil, nil
}

// execute returns the Execute with the messages of a step before it, if it needs one.
func (f *ClientFlow) execute(frame []byte) (replacement []byte, err error) {
	a := new(about)
	if portal, _, ok := wire.CString(frame[wire.HeaderSize:]); ok {
		a.portal = nameKey(portal)
		if f.late != nil {
			var refused Plan
			if replacement, refused, err = f.lateExecute(portal, a); refused != nil {
				return f.fail(refused), nil
			}
		}
	}
	f.push(owedExecute, a)
	if replacement != nil {
		replacement = append(replacement, frame...)
	}
	return replacement, err
}

// named notes a Describe or Close, whose body is 'S' or 'P' and a name.
func (f *ClientFlow) named(kind replyKind, body []byte) {
	a := new(about)
	if len(body) > 0 {
		if name, _, ok := wire.CString(body[1:]); ok {
			if a.ofPortal = body[0] == 'P'; a.ofPortal {
				a.portal = nameKey(name)
			} else {
				a.statement = nameKey(name)
			}
			if f.late != nil && kind == owedClose {
				a.deeds = f.late.closed(a)
			}
		}
	}
	f.push(kind, a)
}
