package tracing

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
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
	calls     func() Calls
	send      trace.SpanID // of the first span that posts; the zero value: any

	rows  int // that were shown
	links []sdktrace.Link
	iid   string
	tag   string
	code  string // SQLSTATE of the error with which it has failed
	ended bool
}

// Row is shown the body of a DataRow that replies to the run, and reports whether it wants the next one. It keeps nothing of body.
func (r *Run) Row(body []byte) (more bool) {
	if r.rows++; r.rows == 1 {
		if text, ok := onlyText(body); ok && len(text) <= maxName {
			r.iid = text
		}
	}
	if sc, ok := fromRow(body); ok {
		r.links = append(r.links, sdktrace.Link{SpanContext: sc})
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
	calls := r.calls()
	for _, d := range calls.Destinations {
		r.span(now, d, calls)
	}
}

// span makes the span of one call, if it is sampled.
func (r *Run) span(now time.Time, d Destination, calls Calls) {
	t, ctx := r.statement.tracer, context.Background()
	s := &finished{tracer: t, name: d.Operation.Name, kind: trace.SpanKindClient, start: r.since, end: now}
	var id trace.TraceID
	if r.statement.context.IsValid() && !r.statement.named {
		s.parent = r.statement.context
		id, ctx = s.parent.TraceID(), trace.ContextWithSpanContext(ctx, s.parent)
	} else {
		id = newTraceID()
	}
	var queue string
	if d.Queue != "" {
		queue = bounded(d.Queue)
		s.name += " " + queue
	}
	span := newSpanID()
	switch {
	case d.Operation.Type == typeReceive:
		s.kind = trace.SpanKindConsumer
	case d.Operation.Type == typeSend && r.send.IsValid(): // its context is that of the messages
		s.kind, span = trace.SpanKindProducer, r.send
		r.send = trace.SpanID{}
	}
	sampled := t.sampler.ShouldSample(sdktrace.SamplingParameters{ParentContext: ctx, TraceID: id, Name: s.name, Kind: s.kind})
	if sampled.Decision != sdktrace.RecordAndSample {
		return
	}
	s.context = trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: trace.FlagsSampled, TraceState: sampled.Tracestate})
	s.attributes = r.attributes(append(s.room[:0], sampled.Attributes...), d, queue, calls)
	if r.code != "" {
		s.status.Code = codes.Error
	}
	if c := r.statement.context; c.IsValid() && r.statement.named {
		s.links = append(s.links, sdktrace.Link{SpanContext: c})
	}
	if d.Operation.Type == typeReceive {
		s.links = append(s.links, r.links...)
	}
	t.processor.OnEnd(s)
}

// attributes appends what is said of one call.
func (r *Run) attributes(to []attribute.KeyValue, d Destination, queue string, calls Calls) []attribute.KeyValue {
	to = append(to, attribute.String("messaging.system", systemName), attribute.String("messaging.operation.name", d.Operation.Name))
	if d.Operation.Type != "" {
		to = append(to, attribute.String("messaging.operation.type", d.Operation.Type))
	}
	if calls.Database != "" {
		to = append(to, attribute.String("db.namespace", bounded(calls.Database)))
	}
	if queue != "" {
		to = append(to, attribute.String("messaging.destination.name", queue))
	}
	if d.Consumer != "" {
		to = append(to, attribute.String("messaging.consumer.group.name", bounded(d.Consumer)))
	}
	if r.code != "" {
		to = append(to, attribute.String("error.type", r.code))
		if r.code != otherError {
			to = append(to, attribute.String("db.response.status_code", r.code))
		}
	}
	n, counted := r.count(calls)
	switch {
	case !counted || d.Operation.Type != typeSend && d.Operation.Type != typeReceive:
	case d.Operation.Type == typeSend && n == 1 && r.iid != "":
		to = append(to, attribute.String("messaging.message.id", bounded(r.iid)))
	default:
		to = append(to, attribute.Int("messaging.batch.message_count", n))
	}
	return to
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

// bounded returns a text that a client has chosen as it may stand in a span: valid, and short.
func bounded(text string) string {
	if len(text) > maxName {
		text = text[:maxName]
		for len(text) > 0 && !utf8.ValidString(text[max(0, len(text)-utf8.UTFMax):]) && utf8.RuneStart(text[len(text)-1]) {
			text = text[:len(text)-1]
		}
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
