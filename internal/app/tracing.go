package app

import (
	"time"

	"mbusproxy/internal/tracing"
	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/wire"
	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/plan"
	"mbusproxy/sqlfuncs"
)

// statement is what is kept of a text beside its plan.
type statement struct {
	// tags are those of the comment that was cut from the text, which the server gets behind it; "" for none.
	tags lex.Tags
	// trace is nil where the text is not traced.
	trace *traced
}

// traced is what is kept of a text that is traced.
type traced struct {
	*tracing.Statement
	database string
	// addresses and alone are those of the plan, once known is set. Only portals set it, whose statement is run again and again.
	addresses    []plan.Address
	alone, known bool
}

// read cuts the comment with tags from a text and returns the rest, with what is to be known for its plan.
func (r *rewriter) read(sc pipeline.StatementContext, text string) (body string, st statement, s plan.Session) {
	s = session(sc)
	body, st.tags = lex.CutTags(text, lex.EncodingOf(sc.Encoding), sc.EscapeStrings)
	if r.tracer != nil {
		st.trace = &traced{Statement: r.tracer.Statement(tracing.FromTags(st.tags.All()), sc.Named), database: sc.Database}
		s.Trace = st.trace.Headers()
	}
	return body, st, s
}

// SQL returns the text for the server. The comment that the client's has at its end is there, too.
func (p wirePlan) SQL() string {
	if p.tags == "" {
		return p.Plan.SQL()
	}
	return p.Plan.SQL() + " /*" + string(p.tags) + "*/"
}

// Traces reports whether runs of the plan are traced.
func (p wirePlan) Traces() bool { return p.trace != nil }

// Trace begins the trace of a run.
func (p wirePlan) Trace(values wire.Values, since time.Time) pipeline.Trace {
	t := p.trace
	if since.IsZero() {
		return t.Run(since, func() tracing.Calls {
			addresses, alone := p.Addresses()
			return callsOf(addresses, alone, t.database, wire.Values{})
		})
	}
	if !t.known {
		t.addresses, t.alone = p.Addresses()
		t.known = true
	}
	calls := callsOf(t.addresses, t.alone, t.database, values)
	return t.Run(since, func() tracing.Calls { return calls })
}

// callsOf says what is called with the values of a Bind.
func callsOf(addresses []plan.Address, alone bool, database string, values wire.Values) tracing.Calls {
	calls := tracing.Calls{Destinations: make([]tracing.Destination, len(addresses)), Alone: alone, Database: database}
	for i, a := range addresses {
		calls.Destinations[i] = tracing.Destination{
			Operation: tracing.OperationOf(a.Func.Serves), Queue: textOf(a.Queue, values), Consumer: textOf(a.Consumer, values),
		}
	}
	return calls
}

// maxNameBytes bounds what is kept of the value of a parameter: more than a queue's name may have.
const maxNameBytes = 1 << 10

// textOf returns the value of an argument, folded as names are; "" where it is not known.
func textOf(from plan.Source, values wire.Values) string {
	text := from.Text
	if v, ok := values.Get(from.Param); ok && !v.Null && len(v.Bytes) <= maxNameBytes { // the binary form of a text is the text
		text = string(v.Bytes)
	}
	return sqlfuncs.Fold(text)
}
