package tracing

import (
	"iter"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// The names of the headers of the recommendation "Trace Context", which are those of the tags in a comment and of the headers of messages.
const (
	traceparentKey = "traceparent"
	tracestateKey  = "tracestate"
)

const (
	traceparentLen = 55 // of version 00
	maxTracestate  = 512
)

// FromTags returns the context that the tags of a comment name; an invalid one where they name none.
func FromTags(tags iter.Seq2[string, string]) trace.SpanContext {
	var parent, state string
	for key, value := range tags {
		switch strings.ToLower(key) {
		case traceparentKey:
			parent = value
		case tracestateKey:
			state = value
		}
	}
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

// parseTraceparent reads a traceparent of the recommendation "Trace Context": lower case, no blanks. Of a later version it reads what
// version 00 has.
func parseTraceparent(s string) (sc trace.SpanContext, ok bool) {
	if len(s) < traceparentLen || s[2] != '-' || s[35] != '-' || s[52] != '-' || !hexadecimal(s[:2]) || !hexadecimal(s[53:55]) {
		return sc, false
	}
	switch version := s[:2]; {
	case version == "ff", version == "00" && len(s) > traceparentLen, len(s) > traceparentLen && s[traceparentLen] != '-', len(s) > maxTracestate:
		return sc, false
	}
	if !hexadecimal(s[3:35]) || !hexadecimal(s[36:52]) {
		return sc, false
	}
	traceID, err := trace.TraceIDFromHex(s[3:35])
	if err != nil {
		return sc, false
	}
	spanID, err := trace.SpanIDFromHex(s[36:52])
	if err != nil {
		return sc, false
	}
	var flags trace.TraceFlags
	if strings.IndexByte("13579bdf", s[54]) >= 0 {
		flags = trace.FlagsSampled
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: flags, Remote: true}), true
}

// hexadecimal reports whether a text has digits and lower-case letters only.
func hexadecimal(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// headers returns the text of an hstore with the headers that carry a context.
func headers(sc trace.SpanContext) string {
	flags := "00"
	if sc.IsSampled() {
		flags = "01"
	}
	out := `"` + traceparentKey + `"=>"00-` + sc.TraceID().String() + "-" + sc.SpanID().String() + "-" + flags + `"`
	if state := sc.TraceState().String(); state != "" {
		out += `,"` + tracestateKey + `"=>"` + state + `"`
	}
	return out
}
