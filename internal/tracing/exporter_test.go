package tracing

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	sdkresource "go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// wire is a client that keeps what it is given as it goes over the wire.
type wire struct {
	got []*tracepb.ResourceSpans
	err error
}

func (*wire) Start(context.Context) error { return nil }
func (*wire) Stop(context.Context) error  { return nil }
func (w *wire) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	data, err := proto.Marshal(&collectorpb.ExportTraceServiceRequest{ResourceSpans: spans})
	if err != nil {
		return err
	}
	var request collectorpb.ExportTraceServiceRequest
	if err := proto.Unmarshal(data, &request); err != nil {
		return err
	}
	w.got = request.ResourceSpans
	return w.err
}

// shown is a span as the collector reads it.
func shown(s *tracepb.Span) string {
	attributes := map[string]string{}
	for _, a := range s.Attributes {
		attributes[a.Key] = strings.TrimSpace(a.Value.GetStringValue() + " " + strings.TrimPrefix(fmt.Sprint(a.Value.GetIntValue()), "0"))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %x-%x<%x %s flags %x, %d to %d, %s", s.Name, s.Kind, s.TraceId, s.SpanId, s.ParentSpanId, s.TraceState, s.Flags, s.StartTimeUnixNano, s.EndTimeUnixNano, s.Status.GetCode())
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		fmt.Fprintf(&b, " %s=%s", key, attributes[key])
	}
	for _, l := range s.Links {
		fmt.Fprintf(&b, " link %x-%x flags %x", l.TraceId, l.SpanId, l.Flags)
	}
	return b.String()
}

// What goes over the wire is what a span says, whatever the spans of the batch before have said.
func TestExporter(t *testing.T) {
	t.Parallel()
	client := &wire{}
	res := sdkresource.NewSchemaless()
	e := newExporter(client, res, "1.2")
	var known addresses
	from, _ := parseTraceparent(parent)
	post := func() *finished {
		return &finished{
			address: known.of(Destination{Operation: OperationOf("post"), Queue: "q"}, "db"), kind: tracepb.Span_SPAN_KIND_PRODUCER,
			traceID: from.TraceID(), spanID: trace.SpanID{1}, parent: from.SpanID(), start: 5, end: 7, counted: true, count: 1, iid: "q.db.1",
		}
	}
	state, err := trace.ParseTraceState("a=b")
	if err != nil {
		t.Fatal(err)
	}
	failed := &finished{
		address: known.of(Destination{Operation: OperationOf("post"), Queue: "q"}, "db"), kind: tracepb.Span_SPAN_KIND_CLIENT,
		traceID: trace.TraceID{2}, spanID: trace.SpanID{3}, state: state, start: 8, end: 9, code: "42704",
	}
	received := &finished{
		address: known.of(Destination{Operation: OperationOf("take"), Queue: "q", Consumer: "c"}, ""), kind: tracepb.Span_SPAN_KIND_CONSUMER,
		traceID: trace.TraceID{4}, spanID: trace.SpanID{5}, links: []trace.SpanContext{from}, counted: true,
	}
	const (
		id      = "4bf92f3577b34da6a3ce929d0e0e4736"
		said    = " db.namespace=db messaging.destination.name=q"
		sent    = " messaging.operation.name=send messaging.operation.type=send messaging.system=mbus4"
		ofPost  = "send q SPAN_KIND_PRODUCER " + id + "-0100000000000000<00f067aa0ba902b7  flags 301, 5 to 7, STATUS_CODE_UNSET" + said + " messaging.message.id=q.db.1" + sent
		ofError = "send q SPAN_KIND_CLIENT 02000000000000000000000000000000-0300000000000000< a=b flags 101, 8 to 9, STATUS_CODE_ERROR db.namespace=db " +
			"db.response.status_code=42704 error.type=42704 messaging.destination.name=q" + sent
		ofTake = "receive q SPAN_KIND_CONSUMER 04000000000000000000000000000000-0500000000000000<  flags 101, 0 to 0, STATUS_CODE_UNSET messaging.batch.message_count= " +
			"messaging.consumer.group.name=c messaging.destination.name=q messaging.operation.name=receive messaging.operation.type=receive messaging.system=mbus4 link " + id + "-00f067aa0ba902b7 flags 301"
	)
	for _, c := range []struct {
		spans []sdktrace.ReadOnlySpan
		want  []string
	}{
		{[]sdktrace.ReadOnlySpan{post(), failed, received}, []string{ofPost, ofError, ofTake}},
		{[]sdktrace.ReadOnlySpan{failed, received, post(), post()}, []string{ofError, ofTake, ofPost, ofPost}},
		{[]sdktrace.ReadOnlySpan{received, post()}, []string{ofTake, ofPost}},
		{[]sdktrace.ReadOnlySpan{post()}, []string{ofPost}},
	} {
		if err := e.ExportSpans(t.Context(), c.spans); err != nil {
			t.Fatal(err)
		}
		scope := client.got[0].ScopeSpans[0]
		if len(client.got) != 1 || scope.Scope.Name != scopeName || scope.Scope.Version != "1.2" {
			t.Errorf("%v", client.got)
		}
		var got []string
		for _, s := range scope.Spans {
			got = append(got, shown(s))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
	client.err = errors.New("no")
	if err := e.ExportSpans(t.Context(), []sdktrace.ReadOnlySpan{post()}); !errors.Is(err, client.err) {
		t.Errorf("got %v", err)
	}
}

// Addresses that were used before are the same ones, and no more are kept than maxAddresses, whatever clients write.
func TestAddresses(t *testing.T) {
	t.Parallel()
	var known addresses
	send := OperationOf("post")
	first := known.of(Destination{Operation: send, Queue: "q"}, "db")
	if known.of(Destination{Operation: send, Queue: strings.Clone("q")}, "db") != first {
		t.Error("the same address is made twice")
	}
	long := strings.Repeat("x", 1000)
	if a := known.of(Destination{Operation: send, Queue: long}, "db"); a != known.of(Destination{Operation: send, Queue: long}, "db") || a.name != "send "+long[:maxName] {
		t.Errorf("a long name has the address %q", a.name)
	}
	for i := range 3 * maxAddresses {
		known.of(Destination{Operation: send, Queue: fmt.Sprint(i, long), Consumer: fmt.Sprint(i, "\xff")}, "db")
		if n := len(known.known); n > maxAddresses {
			t.Fatalf("%d addresses are kept", n)
		}
	}
	for key := range known.known {
		if n := len(key.Queue) + len(key.Consumer) + len(key.database); n > 3*maxName {
			t.Fatalf("a key has %d bytes", n)
		}
	}
	if again := known.of(Destination{Operation: send, Queue: "q"}, "db"); again.name != first.name || string(again.encoded) != string(first.encoded) {
		t.Error("an address that was let go is another")
	}
}

// BenchmarkExport is what the export of a span costs up to its bytes.
func BenchmarkExport(b *testing.B) {
	e := newExporter(&wireless{}, sdkresource.Empty(), "test")
	var known addresses
	spans := make([]sdktrace.ReadOnlySpan, gatherFull)
	for i := range spans {
		spans[i] = &finished{
			address: known.of(Destination{Operation: OperationOf("post"), Queue: "q"}, "db"), traceID: trace.TraceID{1}, spanID: trace.SpanID{2}, parent: trace.SpanID{3},
			start: 1 << 60, end: 1 << 60, iid: "q.db.1795455316000000.1234", counted: true, count: 1,
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := e.ExportSpans(b.Context(), spans); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/gatherFull, "ns/span")
}

// wireless is a client that encodes and throws away.
type wireless struct{ wire }

func (*wireless) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	_, err := proto.Marshal(&collectorpb.ExportTraceServiceRequest{ResourceSpans: spans})
	return err
}
