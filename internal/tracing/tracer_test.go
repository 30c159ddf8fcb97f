package tracing

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// send makes the span of a post.
func send(t *Tracer) {
	var s Statement
	s.Begin(t, FromTags(parent, ""), false)
	r := s.Run(time.Time{}, func([]Destination) Calls {
		return Calls{Destinations: []Destination{{Operation: OperationOf("post"), Queue: "q"}}, Alone: true}
	})
	r.Completed("SELECT 1")
	r.Ended()
}

// A collector that never answers costs spans: the calls go on as fast as before, what waits is
// bounded, and so is the end.
func TestHungCollector(t *testing.T) {
	ended, asked := make(chan struct{}), make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-ended
	}))
	defer server.Close()
	defer close(ended)
	tracer, err := Open(context.Background(), server.URL, "test", zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	for range 5000 { // more than the queue holds
		send(tracer)
	}
	<-asked // it hangs
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	goroutines, since := runtime.NumGoroutine(), time.Now()
	const spans = 50_000
	for range spans {
		send(tracer)
	}
	if took := time.Since(since); took > 20*time.Second {
		t.Errorf("%d spans took %v", spans, took)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	if n := runtime.NumGoroutine(); n > goroutines+5 {
		t.Errorf("%d goroutines, there were %d", n, goroutines)
	}
	since = time.Now()
	tracer.Close()
	if took := time.Since(since); took > closeLimit+5*time.Second {
		t.Errorf("closing took %v", took)
	}
}

// What goes wrong with the export is logged at a bounded rate.
func TestRefusingCollector(t *testing.T) {
	asked := make(chan struct{}, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no"+strings.Repeat(", no", 100_000), http.StatusForbidden)
		asked <- struct{}{}
	}))
	defer server.Close()
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	core, logged := observer.New(zap.InfoLevel)
	tracer, err := Open(context.Background(), server.URL, "test", zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		send(tracer)
		<-asked
	}
	tracer.Close()
	if n := logged.Len(); n == 0 || n > 2 {
		t.Errorf("%d messages in the log, want one for each minute: %v", n, logged.All())
	}
	for _, line := range logged.All() {
		if text := fmt.Sprint(line.ContextMap()); len(text) > 1000 {
			t.Errorf("%d bytes of what a collector says are logged", len(text))
		}
	}
}

func TestCollectorURL(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{
		"http://localhost:4318":        "http://localhost:4318/v1/traces",
		"https://collector/":           "https://collector/v1/traces",
		"http://collector/custom/path": "http://collector/custom/path",
		"localhost:4318":               "",
		"yes":                          "",
		"":                             "",
		"ftp://x":                      "",
	} {
		if got, err := collectorURL(to); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v", to, got, err)
		}
	}
}

// BenchmarkSpan is what a post with a context costs beside the export.
func BenchmarkSpan(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer server.Close()
	tracer, err := Open(b.Context(), server.URL, "test", zap.NewNop())
	if err != nil {
		b.Fatal(err)
	}
	defer tracer.Close()
	b.ReportAllocs()
	for b.Loop() {
		send(tracer)
	}
}
