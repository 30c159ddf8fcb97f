package tracing

import (
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Statement is what is known of a text of a client's when it comes: the context in its comment, and when that was.
type Statement struct {
	tracer *Tracer
	begun  time.Time
	// context is that of the comment; invalid: there is none.
	context trace.SpanContext
	// named says that the text was prepared under a name, to be run at any time: its comment says nothing of a run.
	named bool
	// send is the ID of the span that posts, which the messages name as the one that they come from.
	send trace.SpanID
	// begins is set by the first run, whose span that is.
	begins atomic.Bool
}

// Statement returns what to keep of a text whose comment has that context. named says that it is prepared under a name.
func (t *Tracer) Statement(context trace.SpanContext, named bool) *Statement {
	s := &Statement{tracer: t, begun: time.Now(), context: context, named: named}
	if context.IsValid() && !named {
		s.send = newSpanID()
	}
	return s
}

// Headers returns the text of an hstore with the headers of messages that the statement posts; "" for none. What was prepared under a
// name gives none, for the context of its text is not that of a run.
func (s *Statement) Headers() string {
	switch {
	case s.named || !s.context.IsValid():
		return ""
	case s.context.IsSampled():
		return headers(s.context.WithSpanID(s.send))
	}
	return headers(s.context) // the span will not be exported
}

// Destination says where a call goes.
type Destination struct {
	Operation       Operation
	Queue, Consumer string // "": not known
}

// Run returns one run of the statement that begins. It is safe for concurrent use. Its calls, with what is to be said of all of them, are got from calls where the run is
// exported. since is when the client has asked for it; the zero time: with the text.
func (s *Statement) Run(since time.Time, calls func() Calls) *Run {
	r := &Run{statement: s, since: since, calls: calls}
	if since.IsZero() {
		r.since = s.begun
	}
	if s.send.IsValid() && !s.begins.Swap(true) {
		r.send = s.send
	}
	return r
}

// Calls are what a run calls.
type Calls struct {
	Destinations []Destination
	// Alone says that the statement is one call and nothing else: the rows of its reply are what the call gives.
	Alone    bool
	Database string
}
