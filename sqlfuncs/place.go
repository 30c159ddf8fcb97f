package sqlfuncs

import (
	"strconv"
	"strings"
)

// A place is what the SQL that serves a call leaves open for package rewrite, which must know where
// it stands: an argument, for it is copied from the client's text, the secret of the session, for
// plans are shared between sessions, and the trace context of the statement, which is another each
// time. It is a name between two zero bytes. No client can write one: a zero byte ends a text in
// the protocol.

// SecretPlace is the place of the session's secret.
const SecretPlace = "\x00" + secretPlace + "\x00"

const (
	secretPlace = "secret"
	argPlace    = "argument "
	tracePlace  = "trace "
)

// TracePlace is the place of the statement's trace context, a literal of that width in bytes whose
// text is one of hstore.
func TracePlace(width int) string { return "\x00" + tracePlace + strconv.Itoa(width) + "\x00" }

// TraceWidth returns the width of the TracePlace that CutPlace has returned as param; false where
// it is that of an argument.
func TraceWidth(param string) (width int, ok bool) {
	digits, ok := strings.CutPrefix(param, tracePlace)
	if !ok {
		return 0, false
	}
	width, err := strconv.Atoi(digits)
	return width, err == nil
}

// ArgPlace is the place of the argument for a parameter, which is an expression of the parameter's type there.
func ArgPlace(param string) string { return "\x00" + argPlace + param + "\x00" }

// CutPlace cuts a text at its first place. param is "" where that is SecretPlace, and what
// TraceWidth takes where it is a TracePlace.
func CutPlace(text string) (before, param, after string, found bool) {
	before, rest, found := strings.Cut(text, "\x00")
	if !found {
		return text, "", "", false
	}
	place, after, _ := strings.Cut(rest, "\x00")
	if place == secretPlace {
		return before, "", after, true
	}
	if strings.HasPrefix(place, tracePlace) { // no parameter's name has a blank
		return before, place, after, true
	}
	param, isArg := strings.CutPrefix(place, argPlace)
	if !isArg {
		panic("a place in SQL that is none")
	}
	return before, param, after, true
}
