package plan

// Env is what a plan depends on in the database.
type Env struct {
	// Ordered says that messages of the database may wait for others. A plan made without it is right all the same, but
	// leaves it to the engine to wake them.
	Ordered bool
}

// Session is what a plan depends on in the session that sends the text.
type Session struct {
	Encoding string // client_encoding
	// EscapeStrings is true while standard_conforming_strings is off: a backslash escapes in plain strings, too.
	EscapeStrings bool
	// Void lists the parameters ($n) that Parse declares as void. Postgres drops them from the
	// arguments of a call; JDBC sends one for the result in {? = call f(?)}.
	Void []int
	// Prepared says that the text may run more than once, and later than now.
	Prepared bool
	// Trace is what the messages posted get as headers beside the caller's own: the text of an
	// hstore without single quotes and backslashes, at most WideTrace bytes; "" for nothing.
	Trace string
	// Answer says which of the text's candidates (detect.Candidate) are ours: it has a 1 in the place of each that is.
	Answer string
}

// The lengths of Session.Trace, in bytes, for which there are plans of their own: that of a
// traceparent, and one with a tracestate.
const (
	NarrowTrace = 80
	WideTrace   = 640
)

// TraceWidth is the width of the literal that Trace is put into; 0 without it.
func (s Session) TraceWidth() int {
	switch {
	case s.Trace == "":
		return 0
	case len(s.Trace) <= NarrowTrace:
		return NarrowTrace + 2
	}
	return WideTrace + 2
}
