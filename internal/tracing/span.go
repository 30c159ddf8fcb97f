package tracing

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// finished is a span that has ended, as the SDK's processor and exporter read it. The SDK's own spans may be changed by anybody while they
// last, which costs more than all else that tracing does for a call; these are made when nothing changes any more.
type finished struct {
	sdktrace.ReadOnlySpan // nil; for its private method, which nobody calls

	tracer     *Tracer
	name       string
	context    trace.SpanContext
	parent     trace.SpanContext
	kind       trace.SpanKind
	start, end time.Time
	attributes []attribute.KeyValue
	links      []sdktrace.Link
	status     sdktrace.Status
	room       [maxAttributes]attribute.KeyValue // of attributes
}

// maxAttributes is how many attributes a span has at most.
const maxAttributes = 10

func (s *finished) Name() string                                { return s.name }
func (s *finished) SpanContext() trace.SpanContext              { return s.context }
func (s *finished) Parent() trace.SpanContext                   { return s.parent }
func (s *finished) SpanKind() trace.SpanKind                    { return s.kind }
func (s *finished) StartTime() time.Time                        { return s.start }
func (s *finished) EndTime() time.Time                          { return s.end }
func (s *finished) Attributes() []attribute.KeyValue            { return s.attributes }
func (s *finished) Links() []sdktrace.Link                      { return s.links }
func (s *finished) Events() []sdktrace.Event                    { return nil }
func (s *finished) Status() sdktrace.Status                     { return s.status }
func (s *finished) InstrumentationScope() instrumentation.Scope { return s.tracer.scope }
func (s *finished) Resource() *resource.Resource                { return s.tracer.resource }
func (s *finished) DroppedAttributes() int                      { return 0 }
func (s *finished) DroppedLinks() int                           { return 0 }
func (s *finished) DroppedEvents() int                          { return 0 }
func (s *finished) ChildSpanCount() int                         { return 0 }

// InstrumentationLibrary is the old name of InstrumentationScope.
func (s *finished) InstrumentationLibrary() instrumentation.Library { //nolint:staticcheck // the interface has it
	return s.tracer.scope
}
