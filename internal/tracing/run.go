package tracing

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

const (
	// maxRows is how many rows of a reply are looked at for the contexts of messages.
	maxRows = 32
	// maxName bounds the name of a queue or consumer, or an iid, in a span, in bytes.
	maxName = 200
	// systemName is messaging.system.
	systemName = "mbus4"
)

// Run is one run of a statement. It becomes spans when it ends. It is used by one goroutine at a time.
type Run struct {
	statement *Statement
	since     time.Time
	calls     func() Calls
	send      trace.SpanID // of the first span that posts; the zero value: any

	rows  int // that were shown
	links []trace.Link
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
		r.links = append(r.links, trace.Link{SpanContext: sc})
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
		r.code = "_OTHER"
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
	s := r.statement
	ctx := context.Background()
	var links []trace.Link
	switch {
	case s.context.IsValid() && !s.named:
		ctx = trace.ContextWithRemoteSpanContext(ctx, s.context)
	case s.context.IsValid():
		links = append(links, trace.Link{SpanContext: s.context})
	}
	calls := r.calls()
	for _, d := range calls.Destinations {
		r.span(ctx, now, d, calls, links)
	}
}

// span makes the span of one call.
func (r *Run) span(ctx context.Context, now time.Time, d Destination, calls Calls, links []trace.Link) {
	name := d.Operation.Name
	attributes := make([]attribute.KeyValue, 0, 8)
	attributes = append(attributes, attribute.String("messaging.system", systemName), attribute.String("messaging.operation.name", name))
	if d.Operation.Type != "" {
		attributes = append(attributes, attribute.String("messaging.operation.type", d.Operation.Type))
	}
	if calls.Database != "" {
		attributes = append(attributes, attribute.String("db.namespace", bounded(calls.Database)))
	}
	if d.Queue != "" {
		queue := bounded(d.Queue)
		name += " " + queue
		attributes = append(attributes, attribute.String("messaging.destination.name", queue))
	}
	if d.Consumer != "" {
		attributes = append(attributes, attribute.String("messaging.consumer.group.name", bounded(d.Consumer)))
	}
	if r.code != "" {
		attributes = append(attributes, attribute.String("error.type", r.code))
		if r.code != "_OTHER" {
			attributes = append(attributes, attribute.String("db.response.status_code", r.code))
		}
	}
	kind := trace.SpanKindClient
	switch d.Operation.Type {
	case typeSend:
		if r.send.IsValid() { // its context is that of the messages
			kind = trace.SpanKindProducer
			ctx, r.send = context.WithValue(ctx, wantedID{}, r.send), trace.SpanID{}
		}
		if n, ok := r.count(calls); ok && n == 1 && r.iid != "" {
			attributes = append(attributes, attribute.String("messaging.message.id", bounded(r.iid)))
		} else if ok {
			attributes = append(attributes, attribute.Int("messaging.batch.message_count", n))
		}
	case typeReceive:
		kind = trace.SpanKindConsumer
		if n, ok := r.count(calls); ok {
			attributes = append(attributes, attribute.Int("messaging.batch.message_count", n))
		}
		links = append(links[:len(links):len(links)], r.links...)
	}
	_, span := r.statement.tracer.tracer.Start(ctx, name, trace.WithTimestamp(r.since), trace.WithSpanKind(kind), trace.WithAttributes(attributes...), trace.WithLinks(links...))
	if r.code != "" {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(now))
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
