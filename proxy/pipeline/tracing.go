package pipeline

import (
	"time"

	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

const (
	// maxTraced bounds how many statements and portals of a session are traced at a time.
	maxTraced = 128
	// maxTracedRow is the size of the longest DataRow that a Trace is shown, in bytes.
	maxTracedRow = 16 << 10
)

// traces is what a ClientFlow keeps in a session with plans that are traced: what the names stand
// for, as far as it has sent messages. What becomes of these it need not know: a run that the
// server skips has no end.
type traces struct {
	statements map[string]statements.PortalTracer
	portals    map[string]statements.Trace
	// since is when the message at hand has come, where it has had to wait.
	since time.Time
}

// traceQuery returns the trace of a Query with that plan, which may be nil.
func traceQuery(plan statements.Plan) statements.Trace {
	if t, ok := plan.(statements.Traced); ok && t.Traces() {
		return t.Trace()
	}
	return nil
}

// parsing is the Trace of a Parse, which is one only where that fails.
type parsing struct{ of statements.Traced }

func (parsing) WantsRows() bool      { return false }
func (parsing) Row([]byte) bool      { return false }
func (parsing) Completed(string)     {}
func (parsing) Ended()               {}
func (p parsing) Failed(code string) { p.of.Trace().Failed(code) }

// traceParse notes what a statement's name stands for from now on, and returns the trace of its Parse.
func (f *ClientFlow) traceParse(key string, plan statements.Plan) statements.Trace {
	t, ok := plan.(statements.Traced)
	if !ok || !t.Traces() {
		delete(f.traces.statements, key)
		return nil
	}
	if f.traces.statements == nil {
		f.traces.statements, f.traces.portals = map[string]statements.PortalTracer{}, map[string]statements.Trace{}
	}
	if _, known := f.traces.statements[key]; known || len(f.traces.statements) < maxTraced {
		f.traces.statements[key] = t.Portals()
	}
	return parsing{t}
}

// traceBind notes a Bind with those names, and returns its trace.
func (f *ClientFlow) traceBind(frame []byte, a *details) {
	if f.traces.statements == nil {
		return
	}
	t := f.traces.statements[a.Statement]
	if t == nil {
		delete(f.traces.portals, a.Portal)
		return
	}
	var values wire.Values
	if isWhole(frame) {
		values, _ = wire.ReadValues(frame[wire.HeaderSize:])
	}
	since := f.traces.since
	if since.IsZero() {
		since = time.Now()
	}
	a.trace = t.Trace(values, since)
	if _, known := f.traces.portals[a.Portal]; known || len(f.traces.portals) < maxTraced {
		f.traces.portals[a.Portal] = a.trace
	}
}

// traceClose notes a Close.
func (f *ClientFlow) traceClose(a *details) {
	switch {
	case f.traces.statements == nil:
	case a.OfPortal:
		delete(f.traces.portals, a.Portal)
	default:
		delete(f.traces.statements, a.Statement)
	}
}

// traceOf returns the trace of the request that the server replies to, or nil.
func (t *tracker) traceOf() statements.Trace {
	if h := t.head(); h != nil && h.details != nil {
		return h.details.trace
	}
	return nil
}

// failTrace ends the trace of h with an ErrorResponse that the client gets; nil: it is not known what it says.
func failTrace(h *request, frame []byte) {
	if h == nil || h.details == nil || h.details.trace == nil {
		return
	}
	code := ""
	if frame != nil {
		code = codeOf(frame[wire.HeaderSize:])
	}
	h.details.trace.Failed(code)
}

// codeOf returns the SQLSTATE in the body of an ErrorResponse.
func codeOf(body []byte) string {
	for len(body) > 0 && body[0] != 0 {
		field := body[0]
		value, rest, ok := wire.CString(body[1:])
		if !ok {
			return ""
		}
		if field == 'C' && len(value) == 5 {
			return string(value)
		}
		body = rest
	}
	return ""
}
