package tracing

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// finished is a span that has ended. The SDK's own spans may be changed by anybody while they last,
// which costs more than all else that tracing does for a call; these are made when nothing changes
// any more.
type finished struct {
	sdktrace.ReadOnlySpan // nil; of a span the processor reads only the context

	address    *address
	traceID    trace.TraceID
	spanID     trace.SpanID
	parent     trace.SpanID // invalid: it begins its trace
	state      trace.TraceState
	kind       tracepb.Span_SpanKind
	start, end int64 // nanoseconds of Unix
	links      []trace.SpanContext
	code       string // SQLSTATE of the error with which the call has failed
	iid        string
	count      int // of messages, where counted
	counted    bool
}

// SpanContext returns the context.
func (s *finished) SpanContext() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: s.traceID, SpanID: s.spanID, TraceFlags: trace.FlagsSampled, TraceState: s.state})
}
