package tracing

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// samplerFromEnvironment returns the sampler that OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG name.
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
func samplerFromEnvironment() (sdktrace.Sampler, error) {
	const variable = "OTEL_TRACES_SAMPLER"
	name := cmp.Or(strings.ToLower(strings.TrimSpace(os.Getenv(variable))), "parentbased_always_on")
	root, byParent := strings.CutPrefix(name, "parentbased_")
	var sampler sdktrace.Sampler
	switch root {
	case "always_on":
		sampler = sdktrace.AlwaysSample()
	case "always_off":
		sampler = sdktrace.NeverSample()
	case "traceidratio":
		arg := cmp.Or(strings.TrimSpace(os.Getenv(variable+"_ARG")), "1")
		ratio, err := strconv.ParseFloat(arg, 64)
		if err != nil || !(ratio >= 0 && ratio <= 1) {
			return nil, fmt.Errorf("%s_ARG is a number from 0 to 1, not %q", variable, arg)
		}
		sampler = sdktrace.TraceIDRatioBased(ratio)
	default:
		return nil, fmt.Errorf("%s is not known: %q", variable, name)
	}
	if byParent {
		sampler = sdktrace.ParentBased(sampler)
	}
	return sampler, nil
}
