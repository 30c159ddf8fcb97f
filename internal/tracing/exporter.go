package tracing

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// exporter turns spans into OTLP's messages and gives these to the library's client, which encodes
// and sends them. The library's own exporter does the same with any spans; it makes each attribute
// anew, of three objects, and what is said of a call's address is encoded again with every span.
type exporter struct {
	client otlptrace.Client

	batch []*tracepb.ResourceSpans // one, whose spans are those of slots
	scope *tracepb.ScopeSpans      // of batch
	slots []*slot                  // as many as the largest batch had spans
}

// slot is room for one span that is exported, and for its attribute that is no other's.
type slot struct {
	span    tracepb.Span
	own     commonpb.KeyValue
	value   commonpb.AnyValue
	text    commonpb.AnyValue_StringValue
	number  commonpb.AnyValue_IntValue
	ofOwn   [1]*commonpb.KeyValue
	traceID trace.TraceID
	spanID  trace.SpanID
	parent  trace.SpanID
}

// newExporter returns an exporter whose spans are of that resource and scope.
func newExporter(client otlptrace.Client, res *resource.Resource, version string) *exporter {
	e := &exporter{client: client, scope: &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: scopeName, Version: version}}}
	of := &resourcepb.Resource{}
	for it := res.Iter(); it.Next(); {
		a := it.Attribute()
		of.Attributes = append(of.Attributes, text(string(a.Key), a.Value.String()))
	}
	e.batch = []*tracepb.ResourceSpans{{Resource: of, ScopeSpans: []*tracepb.ScopeSpans{e.scope}, SchemaUrl: res.SchemaURL()}}
	return e
}

var _ sdktrace.SpanExporter = (*exporter)(nil)

// ExportSpans exports spans of this package. The processor calls it again when it has returned.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.scope.Spans = e.scope.Spans[:0]
	for i, s := range spans {
		if i == len(e.slots) {
			e.slots = append(e.slots, new(slot))
		}
		if s, ok := s.(*finished); ok {
			e.scope.Spans = append(e.scope.Spans, e.slots[i].fill(s))
		}
	}
	err := e.client.UploadTraces(ctx, e.batch) // keeps nothing of them
	for i := range spans {
		e.slots[i].empty()
	}
	if err != nil {
		return fmt.Errorf("exporting spans: %w", err)
	}
	return nil
}

// Shutdown ends the client.
func (e *exporter) Shutdown(ctx context.Context) error {
	if err := e.client.Stop(ctx); err != nil {
		return fmt.Errorf("ending the export: %w", err)
	}
	return nil
}

// fill returns the message for a span.
func (t *slot) fill(s *finished) *tracepb.Span {
	t.traceID, t.spanID = s.traceID, s.spanID
	p := &t.span
	p.TraceId, p.SpanId, p.ParentSpanId = t.traceID[:], t.spanID[:], nil
	p.Flags = uint32(trace.FlagsSampled) | uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)
	if s.parent.IsValid() {
		t.parent = s.parent
		p.ParentSpanId = t.parent[:]
		p.Flags |= uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	}
	p.TraceState = s.state.String()
	p.StartTimeUnixNano, p.EndTimeUnixNano = uint64(max(0, s.start)), uint64(max(0, s.end))
	p.Kind = s.kind
	p.Links = nil
	for _, c := range s.links {
		p.Links = append(p.Links, link(c))
	}
	p.Status = nil
	p.Attributes = nil
	switch {
	case s.code != "":
		p.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}
		p.Attributes = append(p.Attributes, text("error.type", s.code))
		if s.code != otherError {
			p.Attributes = append(p.Attributes, text("db.response.status_code", s.code))
		}
	case s.iid != "":
		t.text.StringValue = s.iid
		t.value.Value = &t.text
		p.Attributes = t.attribute("messaging.message.id")
	case s.counted:
		t.number.IntValue = int64(s.count)
		t.value.Value = &t.number
		p.Attributes = t.attribute("messaging.batch.message_count")
	}
	p.ProtoReflect().SetUnknown(s.address.encoded)
	return p
}

// attribute returns the attribute of that name with the slot's value.
func (t *slot) attribute(key string) []*commonpb.KeyValue {
	t.own.Key, t.own.Value = key, &t.value
	t.ofOwn[0] = &t.own
	return t.ofOwn[:]
}

// empty lets go of what the slot's span refers to.
func (t *slot) empty() {
	t.text.StringValue = ""
	t.span.TraceState, t.span.Links = "", nil
	t.span.ProtoReflect().SetUnknown(nil)
}

// link returns the message for a link to a span that another process has begun.
func link(c trace.SpanContext) *tracepb.Span_Link {
	traceID, spanID := c.TraceID(), c.SpanID()
	flags := tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK | tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK
	return &tracepb.Span_Link{TraceId: traceID[:], SpanId: spanID[:], Flags: uint32(c.TraceFlags()) | uint32(flags)}
}

// text returns an attribute that is a text.
func text(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}
