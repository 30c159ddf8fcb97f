package tracing

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// sampler says which spans are exported.
type sampler struct {
	root     sdktrace.Sampler // never looks at more of a span than its trace
	byParent bool             // what the parent's process has decided holds for its children
}

// samples reports whether a span is exported. An invalid parent is none.
func (s sampler) samples(parent trace.SpanContext, id trace.TraceID) bool {
	if s.byParent && parent.IsValid() {
		return parent.IsSampled()
	}
	return s.root.ShouldSample(sdktrace.SamplingParameters{ParentContext: context.Background(), TraceID: id}).Decision == sdktrace.RecordAndSample
}

// samplerFromEnvironment returns the sampler that OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG name.
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
func samplerFromEnvironment() (s sampler, err error) {
	const variable = "OTEL_TRACES_SAMPLER"
	name := cmp.Or(strings.ToLower(strings.TrimSpace(os.Getenv(variable))), "parentbased_always_on")
	root, byParent := strings.CutPrefix(name, "parentbased_")
	s.byParent = byParent
	switch root {
	case "always_on":
		s.root = sdktrace.AlwaysSample()
	case "always_off":
		s.root = sdktrace.NeverSample()
	case "traceidratio":
		arg := cmp.Or(strings.TrimSpace(os.Getenv(variable+"_ARG")), "1")
		ratio, err := strconv.ParseFloat(arg, 64)
		if err != nil || !(ratio >= 0 && ratio <= 1) {
			return s, fmt.Errorf("%s_ARG is a number from 0 to 1, not %q", variable, arg)
		}
		s.root = sdktrace.TraceIDRatioBased(ratio)
	default:
		return s, fmt.Errorf("%s is not known: %q", variable, name)
	}
	return s, nil
}
