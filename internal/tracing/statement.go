package tracing

import (
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Statement is what is known of a text of a client's when it comes: the context in its comment, and
// when that was. It must not be copied.
type Statement struct {
	tracer *Tracer
	begun  time.Time
	// context is that of the comment; invalid: there is none.
	context trace.SpanContext
	// named says that the text was prepared under a name, to be run at any time: its comment says nothing of a run.
	named bool
	// send is the ID of the span that posts, which the messages name as the one that they come from.
	send trace.SpanID
	// begins is set by the first run, whose span that is, and which is first.
	begins atomic.Bool
	first  Run
}

// Begin sets what is to be kept of a text whose comment has that context. named says that it is prepared under a name.
func (s *Statement) Begin(t *Tracer, context trace.SpanContext, named bool) {
	s.tracer, s.begun, s.context, s.named = t, time.Now(), context, named
	if context.IsValid() && !named {
		s.send = newSpanID()
	}
}

// Headers returns the text of an hstore with the headers of messages that the statement posts; ""
// for none. What was prepared under a name gives none, for the context of its text is not that of a
// run.
func (s *Statement) Headers() string {
	switch {
	case s.named || !s.context.IsValid():
		return ""
	case s.context.IsSampled():
		return headers(s.context, s.send)
	}
	return headers(s.context, s.context.SpanID()) // the span will not be exported
}

// Destination says where a call goes.
type Destination struct {
	Operation       Operation
	Queue, Consumer string // "": not known
}

// Run returns one run of the statement that begins. It is safe for concurrent use. Its calls, with
// what is to be said of all of them, are got from calls where the run is exported, which may put
// their destinations into room. since is when the client has asked for it; the zero time: with the
// text.
func (s *Statement) Run(since time.Time, calls func(room []Destination) Calls) *Run {
	r := &s.first
	if s.begins.Swap(true) {
		r = new(Run)
	} else {
		r.send = s.send
	}
	r.statement, r.since, r.calls = s, since, calls
	if since.IsZero() {
		r.since = s.begun
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
