package rewriter

import (
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"mbusproxy/internal/tracing"
	"mbusproxy/proxy/statements"
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
	tracing.Statement
	database string
}

// tracedPortals is what is kept of a text whose portals are traced.
type tracedPortals struct {
	*traced
	addresses []plan.Address // of the plan
	alone     bool
}

// read cuts the comment with tags from a text and returns the rest, with what is to be known for its plan.
func (r *Rewriter) read(sc statements.Context, text string) (body string, st statement, s plan.Session) {
	s = session(sc)
	body, st.tags = lex.CutTags(text, lex.EncodingOf(sc.Encoding), sc.EscapeStrings)
	if r.Tracer != nil {
		st.trace = &traced{database: sc.Database}
		st.trace.Begin(r.Tracer, contextOf(st.tags), sc.Named)
		s.Trace = st.trace.Headers()
	}
	return body, st, s
}

// contextOf returns the context that the tags of a comment name. Of a key that is there more than
// once the last pair counts, and capitals and small letters are the same.
func contextOf(tags lex.Tags) trace.SpanContext {
	var parent, state string
	for key, value := range tags.All() {
		switch {
		case strings.EqualFold(key, tracing.TraceparentKey):
			parent = value
		case strings.EqualFold(key, tracing.TracestateKey):
			state = value
		}
	}
	return tracing.FromTags(parent, state)
}

// SQL returns the text for the server. The comment that the client's has at its end is there, too.
func (p wirePlan) SQL() string {
	if p.tags == "" {
		return p.Plan.SQL()
	}
	return p.Plan.SQL() + " /*" + string(p.tags) + "*/"
}

// AppendSQL appends what SQL returns.
func (p wirePlan) AppendSQL(b []byte) []byte {
	b = p.Plan.AppendSQL(b)
	if p.tags != "" {
		b = append(append(append(b, " /*"...), p.tags...), "*/"...)
	}
	return b
}

// Sent returns what is kept of the plan when the server has its text.
func (p wirePlan) Sent() statements.Plan {
	p.Plan = p.Plan.Sent()
	return p
}

// Traces reports whether runs of the plan are traced.
func (p wirePlan) Traces() bool { return p.trace != nil }

// Trace begins the trace of a run of the text itself.
func (p wirePlan) Trace() statements.Trace {
	text, t := p.Plan, p.trace // and not all that the plan has
	return t.Run(time.Time{}, func(room []tracing.Destination) tracing.Calls {
		addresses, alone := text.Addresses()
		return callsOf(room, addresses, alone, t.database, wire.Values{})
	})
}

// Portals returns what traces the portals of a statement with the plan.
func (p wirePlan) Portals() statements.PortalTracer {
	t := &tracedPortals{traced: p.trace}
	t.addresses, t.alone = p.Addresses()
	for i := range t.addresses {
		a := &t.addresses[i]
		a.Queue.Text, a.Consumer.Text = kept(a.Queue.Text), kept(a.Consumer.Text)
	}
	return t
}

// kept returns a copy of a name that keeps nothing of the text around it; of a long one the beginning.
func kept(name string) string { return strings.Clone(name[:min(len(name), maxNameBytes)]) }

// Trace begins the trace of a portal.
func (t *tracedPortals) Trace(values wire.Values, since time.Time) statements.Trace {
	calls := callsOf(nil, t.addresses, t.alone, t.database, values)
	return t.Run(since, func([]tracing.Destination) tracing.Calls { return calls })
}

// callsOf says what is called with the values of a Bind. The destinations are put into room if they fit.
func callsOf(room []tracing.Destination, addresses []plan.Address, alone bool, database string, values wire.Values) tracing.Calls {
	to := slices.Grow(room, len(addresses))
	for _, a := range addresses {
		to = append(to, tracing.Destination{
			Operation: tracing.OperationOf(a.Func.Serves), Queue: textOf(a.Queue, values), Consumer: textOf(a.Consumer, values),
		})
	}
	return tracing.Calls{Destinations: to, Alone: alone, Database: database}
}

// maxNameBytes bounds what is kept of the name of a queue or consumer: more than a span shows.
const maxNameBytes = 256

// textOf returns the value of an argument, folded as names are; "" where it is not known.
func textOf(from plan.Source, values wire.Values) string {
	text := from.Text
	if v, ok := values.Get(from.Param); ok && !v.Null { // the binary form of a text is the text
		text = string(v.Bytes[:min(len(v.Bytes), maxNameBytes)])
	}
	return sqlfuncs.Fold(text)
}
