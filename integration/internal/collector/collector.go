// Package collector is an OTLP collector for tests: it takes what a proxy exports over HTTP and keeps the spans.
package collector

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span that was exported.
type Span struct {
	TraceID, SpanID, ParentID string // in hexadecimal digits
	Name                      string
	Kind                      string // "PRODUCER" and so on
	Failed                    bool
	Attributes                map[string]string
	Links                     []string // trace ID, a minus, and span ID
	Start, End                time.Time
	Service                   string
}

// Collector keeps what it gets. It is safe for concurrent use.
type Collector struct {
	URL string

	mu      sync.Mutex
	spans   []Span
	changed chan struct{} // closed and made anew with each export
	raw     []byte        // all bodies, decompressed
}

// New starts a collector that ends with the test.
func New(t *testing.T) *Collector {
	t.Helper()
	c := &Collector{changed: make(chan struct{})}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// ServeHTTP takes an export.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := c.take(r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (c *Collector) take(r *http.Request) error {
	if r.URL.Path != "/v1/traces" {
		return fmt.Errorf("no collector at %s", r.URL.Path)
	}
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return err
		}
		body = unzipped
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var request collectortrace.ExportTraceServiceRequest
	if err := proto.Unmarshal(data, &request); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = append(c.raw, data...)
	for _, rs := range request.ResourceSpans {
		service := attributes(rs.Resource.GetAttributes())["service.name"]
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				c.spans = append(c.spans, spanOf(s, service))
			}
		}
	}
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

func spanOf(s *tracev1.Span, service string) Span {
	out := Span{
		TraceID: hex.EncodeToString(s.TraceId), SpanID: hex.EncodeToString(s.SpanId), ParentID: hex.EncodeToString(s.ParentSpanId),
		Name: s.Name, Kind: s.Kind.String()[len("SPAN_KIND_"):], Failed: s.Status.GetCode() == tracev1.Status_STATUS_CODE_ERROR,
		Attributes: attributes(s.Attributes), Service: service,
		Start: time.Unix(0, int64(s.StartTimeUnixNano)), End: time.Unix(0, int64(s.EndTimeUnixNano)),
	}
	for _, l := range s.Links {
		out.Links = append(out.Links, hex.EncodeToString(l.TraceId)+"-"+hex.EncodeToString(l.SpanId))
	}
	return out
}

func attributes(list []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range list {
		switch v := kv.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			out[kv.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			out[kv.Key] = fmt.Sprint(v.IntValue)
		default:
			out[kv.Key] = fmt.Sprint(kv.Value)
		}
	}
	return out
}

// Raw is everything that was exported, as it came.
func (c *Collector) Raw() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]byte(nil), c.raw...)
}

// Spans are all spans so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// waitLimit is how long Await waits.
const waitLimit = 20 * time.Second

// Await returns the first span for which wanted is true, once it has come.
func (c *Collector) Await(t *testing.T, what string, wanted func(Span) bool) Span {
	t.Helper()
	limit := time.After(waitLimit)
	for {
		c.mu.Lock()
		spans, changed := c.spans, c.changed
		c.mu.Unlock()
		for _, s := range spans {
			if wanted(s) {
				return s
			}
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("no span %s among %+v", what, spans)
		}
	}
}

// Named is Await for the first span of that name.
func (c *Collector) Named(t *testing.T, name string) Span {
	t.Helper()
	return c.Await(t, name, func(s Span) bool { return s.Name == name })
}
