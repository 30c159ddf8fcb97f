package tracing

import (
	"encoding/hex"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// The names of the headers of the recommendation "Trace Context", which are those of the tags in a
// comment and of the headers of messages.
const (
	TraceparentKey = "traceparent"
	TracestateKey  = "tracestate"
)

const (
	traceparentLen = 55 // of version 00
	maxTracestate  = 512
)

// FromTags returns the context that a traceparent and a tracestate name; an invalid one where they
// name none. "" is one that is not there.
func FromTags(parent, state string) trace.SpanContext {
	sc, ok := parseTraceparent(parent)
	if !ok {
		return trace.SpanContext{}
	}
	// What would have to be escaped where it is kept is left out, which the standard allows.
	if state != "" && len(state) <= maxTracestate && !strings.ContainsAny(state, `"'\`) {
		if ts, err := trace.ParseTraceState(state); err == nil && len(ts.String()) <= maxTracestate {
			sc = sc.WithTraceState(ts)
		}
	}
	return sc
}

// parseTraceparent reads a traceparent of the recommendation "Trace Context": lower case, no
// blanks. Of a later version it reads what version 00 has.
func parseTraceparent(s string) (sc trace.SpanContext, ok bool) {
	var version, flags [1]byte
	var traceID trace.TraceID
	var spanID trace.SpanID
	switch {
	case len(s) < traceparentLen || s[2] != '-' || s[35] != '-' || s[52] != '-':
	case !decode(version[:], s[:2]) || !decode(traceID[:], s[3:35]) || !decode(spanID[:], s[36:52]) || !decode(flags[:], s[53:55]):
	case version[0] == 0xff || !traceID.IsValid() || !spanID.IsValid():
	case len(s) > traceparentLen && (version[0] == 0 || s[traceparentLen] != '-' || len(s) > maxTracestate):
	default:
		return trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: traceID, SpanID: spanID, TraceFlags: trace.TraceFlags(flags[0]) & trace.FlagsSampled, Remote: true,
		}), true
	}
	return sc, false
}

// decode reads as many bytes as to has from twice as many hexadecimal digits, of which the letters
// are small; false where there are others.
func decode(to []byte, from string) bool {
	for i := range to {
		high, ok := hexDigit(from[2*i])
		low, too := hexDigit(from[2*i+1])
		if !ok || !too {
			return false
		}
		to[i] = high<<4 | low
	}
	return true
}

func hexDigit(c byte) (value byte, ok bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}

// headers returns the text of an hstore with the headers that carry a context, which names that span.
func headers(sc trace.SpanContext, span trace.SpanID) string {
	const before, between = `"` + TraceparentKey + `"=>"00-`, `","` + TracestateKey + `"=>"`
	id, flags := sc.TraceID(), [1]byte{byte(sc.TraceFlags())}
	var room [128]byte // enough without a tracestate
	out := room[:0]
	out = hex.AppendEncode(append(out, before...), id[:])
	out = hex.AppendEncode(append(out, '-'), span[:])
	out = hex.AppendEncode(append(out, '-'), flags[:])
	if sc.TraceState().Len() > 0 {
		out = append(append(out, between...), sc.TraceState().String()...)
	}
	return string(append(out, '"'))
}
