package tracing

import (
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

const (
	// maxRows is how many rows of a reply are looked at for the contexts of messages.
	maxRows = 32
	// maxName bounds the name of a queue or consumer, or an iid, in a span, in bytes.
	maxName = 200
	// systemName is messaging.system.
	systemName = "mbus4"
	// otherError is error.type of an error that is not known.
	otherError = "_OTHER"
)

// Run is one run of a statement. It becomes spans when it ends. It is used by one goroutine at a time.
type Run struct {
	statement *Statement
	since     time.Time
	calls     func(room []Destination) Calls
	send      trace.SpanID // of the first span that posts; the zero value: any

	rows  int // that were shown
	links []trace.SpanContext
	iid   string
	tag   string
	code  string // SQLSTATE of the error with which it has failed
	ended bool
	room  [1]Destination // for calls
	own   finished       // the span of the first call
	used  bool           // own is
}

// Row is shown the body of a DataRow that replies to the run, and reports whether it wants the next
// one. It keeps nothing of body.
func (r *Run) Row(body []byte) (more bool) {
	if r.rows++; r.rows == 1 {
		if text, ok := onlyText(body); ok && len(text) <= maxName {
			r.iid = text
		}
	}
	if sc, ok := fromRow(body); ok {
		r.links = append(r.links, sc)
	}
	return r.WantsRows()
}

// WantsRows reports whether Row is to be called for the next row.
func (r *Run) WantsRows() bool { return !r.ended && r.rows < maxRows }

// Completed takes the command tag of a statement of the run.
func (r *Run) Completed(tag string) { r.tag = tag }

// Failed ends the run with an error of that SQLSTATE; "" where it is not known.
func (r *Run) Failed(code string) {
	if r.code = code; code == "" {
		r.code = otherError
	}
	r.Ended()
}

// Ended ends the run. What comes after that is ignored.
func (r *Run) Ended() {
	if r.ended {
		return
	}
	r.ended = true
	now := time.Now()
	calls := r.calls(r.room[:0])
	r.calls = nil // which may hold a text
	for _, d := range calls.Destinations {
		r.span(now, d, calls)
	}
}

// span makes the span of one call, if it is sampled.
func (r *Run) span(now time.Time, d Destination, calls Calls) {
	t, from, kind := r.statement.tracer, r.statement.context, tracepb.Span_SPAN_KIND_CLIENT
	var span trace.SpanID
	switch {
	case d.Operation.Type == typeReceive:
		kind = tracepb.Span_SPAN_KIND_CONSUMER
	case d.Operation.Type == typeSend && r.send.IsValid(): // its context is that of the messages
		kind, span = tracepb.Span_SPAN_KIND_PRODUCER, r.send
		r.send = trace.SpanID{}
	}
	parent := from
	if r.statement.named {
		parent = trace.SpanContext{}
	}
	id := parent.TraceID()
	if !parent.IsValid() {
		id = newTraceID()
	}
	if !t.sampler.samples(parent, id) {
		return
	}
	if !span.IsValid() {
		span = newSpanID()
	}
	s := &r.own
	if r.used {
		s = new(finished)
	}
	r.used = true
	*s = finished{
		address: t.addresses.of(d, calls.Database), traceID: id, spanID: span, parent: parent.SpanID(), state: parent.TraceState(),
		kind: kind, start: r.since.UnixNano(), end: now.UnixNano(), code: bounded(r.code),
	}
	if r.statement.named && from.IsValid() {
		s.links = append(s.links, from)
	}
	if d.Operation.Type == typeReceive {
		s.links = append(s.links, r.links...)
	}
	if d.Operation.Type == typeSend || d.Operation.Type == typeReceive {
		s.count, s.counted = r.count(calls)
	}
	if d.Operation.Type == typeSend && s.counted && s.count == 1 {
		s.iid = bounded(r.iid)
	}
	t.processor.OnEnd(s)
}

// count returns how many rows the statement has returned where each is a message.
func (r *Run) count(calls Calls) (n int, ok bool) {
	digits, ok := strings.CutPrefix(r.tag, "SELECT ")
	if !ok || !calls.Alone || r.code != "" {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil
}
