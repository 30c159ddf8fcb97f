package tracing

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const (
	// serviceName is the name of the service unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES say another.
	serviceName = "mbusproxy"
	scopeName   = "mbusproxy"
	// closeLimit is how long Close waits for a collector to take the last spans.
	closeLimit = 3 * time.Second
	// exportTick is the time in which one failure of the export is logged.
	exportTick = time.Minute
	// mostOfError is how many bytes of one are logged.
	mostOfError = 500
	// FromEnvironment is the value of --trace with which only the environment says where the collector is.
	FromEnvironment = "otlp"
)

// Tracer makes and exports spans. It is safe for concurrent use.
type Tracer struct {
	processor *gatherer
	sampler   sampler
	addresses addresses
}

// Open returns a Tracer that exports to a collector over HTTP, as the variables of OpenTelemetry in
// the environment say: OTEL_EXPORTER_OTLP_…, OTEL_TRACES_SAMPLER, OTEL_BSP_…, OTEL_SERVICE_NAME. to
// is the collector's URL, or FromEnvironment. It does not connect.
func Open(ctx context.Context, to, version string, log *zap.Logger) (*Tracer, error) {
	var options []otlptracehttp.Option
	if to != FromEnvironment {
		endpoint, err := collectorURL(to)
		if err != nil {
			return nil, err
		}
		options = append(options, otlptracehttp.WithEndpointURL(endpoint))
	}
	sampler, err := samplerFromEnvironment()
	if err != nil {
		return nil, err
	}
	// The SDK has one place for its errors, which is the whole program's.
	limited := zap.New(zapcore.NewSamplerWithOptions(log.Core(), exportTick, 1, 0))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { limited.Warn("spans cannot be exported", zap.String("error", beginning(err.Error()))) }))
	client := otlptracehttp.NewClient(options...)
	if err := client.Start(ctx); err != nil { // it does not connect
		return nil, fmt.Errorf("reading the settings of the exporter: %w", err)
	}
	res, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", serviceName), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil && res == nil {
		return nil, fmt.Errorf("reading OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return &Tracer{processor: gather(sdktrace.NewBatchSpanProcessor(newExporter(client, res, version))), sampler: sampler}, nil
}

// beginning is what of an error is logged: a collector's own words are in it, however many.
func beginning(text string) string {
	if len(text) <= mostOfError {
		return text
	}
	return strings.ToValidUTF8(text[:mostOfError], "") + "…"
}

// collectorURL returns the URL for traces: without a path it is the one that OTLP has.
func collectorURL(to string) (string, error) {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%q is neither %q nor the URL of a collector such as http://localhost:4318", to, FromEnvironment)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	return u.String(), nil
}

// Close exports what is left, for a few seconds at most.
func (t *Tracer) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	if err := t.processor.Shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}

func newTraceID() (id trace.TraceID) {
	for !id.IsValid() {
		binary.LittleEndian.PutUint64(id[:8], rand.Uint64())
		binary.LittleEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id
}

func newSpanID() (id trace.SpanID) {
	for !id.IsValid() {
		binary.LittleEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}
