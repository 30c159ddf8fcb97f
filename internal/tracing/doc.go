// Package tracing makes OpenTelemetry's spans of calls and exports them over OTLP.
//
// A call is a span by the conventions for messaging. Its context comes from the comment of its
// statement, and goes with the message that it posts, from where it comes back with the message's
// headers. What clients send is bounded and taken only in its exact form: whatever is wrong with a
// context, it is as if there were none. Neither texts of statements nor messages are ever part of a
// span.
//
// A collector that is slow, or not there, costs spans and nothing else: they wait in a queue of a fixed length.
//
// The package knows neither SQL nor the wire; internal/rewriter joins them.
package tracing
