package plan

import (
	"regexp"
	"strconv"
	"strings"
)

// Markers are how SQL without PL/pgSQL raises the errors and notices of the engine. The server
// quotes them in a message of its own, in whatever language. They prove with the session's secret that they
// are ours; functions that are stored with the schema have no session: see stored.
const (
	// errorMarker starts the text that is cast to integer: "mbus4-error <call> <secret> <SQLSTATE> <message>", in
	// stored functions without the secret.
	errorMarker = "mbus4-error "
	// refusalMarker starts the literal of a refused statement: "mbus4-refusal <number> <secret>".
	refusalMarker = "mbus4-refusal "

	codeInvalidText  = "22P02" // what casting a marker to integer fails with
	codeCannotCoerce = "42846"
	codeNoRights     = "42501"

	codeUndefinedSchema = "3F000"
)

// EditReport does the same for a report that belongs to no plan, for example of an EXECUTE: only
// the engine's markers with the session's secret are turned, and calls that came to the server as they are
// explained.
func EditReport(r *Report, secret string) bool {
	if r.Code == codeInvalidText {
		if _, ok := editMarker(r, secret); ok {
			r.Position = 0
			return true
		}
	}
	return editNotice(r, secret) || editUnseen(r)
}

// stored matches the place, in the first line of a report's context, that is a function of ours which belongs
// to no session: those of the schema's own functions that raise errors, and what views call (mbus4.create_view).
// None of them casts to integer anything that is in a message, nor does what they call. Whoever makes a
// function of that name can have it say anything, but such a function may raise any error without us.
var stored = regexp.MustCompile(`^[^"»«“”„']*["»«“”„'][ \x{a0}]*(check_queue|estimated_messages_of|new_temporary_consumer|no_selector|view_[0-9a-f]{16}_(?:consume|post))[ \x{a0}]*["»«“”„']`)

// fromStored reports whether a function of ours that is stored has cast a marker to integer.
func fromStored(r *Report) bool {
	line, _, _ := strings.Cut(r.Where, "\n")
	return r.File == fileIntegers && stored.MatchString(line)
}

// editMarker turns an error raised with the engine's marker; call is the number of the call, 0 where the
// statement's text does not hold it.
func editMarker(r *Report, secret string) (call int, ok bool) {
	text, ok := marked(r.Message, errorMarker)
	if !ok {
		return 0, false
	}
	number, rest, _ := strings.Cut(text, " ")
	code, message, found := strings.Cut(rest, " ")
	call, err := strconv.Atoi(number)
	switch {
	case code == secret:
		code, message, found = strings.Cut(message, " ")
	case !fromStored(r):
		return 0, false
	}
	if err != nil || !found || len(code) != 5 {
		return 0, false
	}
	r.Code, r.Message, r.Detail, r.Hint, r.Where = code, message, "", hintFor(code, message), ""
	r.Internal = true
	return call, true
}

// marked returns what follows marker in a message that quotes it, up to the closing quote.
func marked(message, marker string) (string, bool) {
	i := strings.Index(message, marker)
	if i <= 0 {
		return "", false
	}
	text := message[i+len(marker):]
	// Languages differ in their quotes; the closing one is the last in the message.
	end := -1
	for _, q := range []string{`"`, "»", "«", "”", "“", "'", "」"} {
		end = max(end, strings.LastIndex(text, q))
	}
	if end >= 0 {
		text = text[:end]
	}
	return strings.TrimRight(text, " \u00a0"), true
}

// The engine raises a NOTICE, or with an SQLSTATE of class 01 a WARNING, by having the server complain about a tsquery without lexemes: of all
// that an expression can call, it is the one that gives a NOTICE (so client_min_messages holds)
// and quotes its argument. The argument is blanks and tabs, one for each bit of the notice's text.
func editNotice(r *Report, secret string) bool {
	if r.Severity != "NOTICE" || !strings.Contains(r.Message, noticeStart) {
		return false
	}
	i := strings.Index(r.Message, noticeStart)
	bits := r.Message[i:]
	var text []byte
	for len(bits) >= 8 {
		var c byte
		for _, b := range bits[:8] {
			c <<= 1
			switch b {
			case '\t':
				c |= 1
			case ' ':
			default:
				return false
			}
		}
		if c != 0 {
			text = append(text, c)
		}
		bits = bits[8:]
	}
	words := strings.SplitN(string(text), " ", 5) // m4, the call's number, the secret, SQLSTATE, message
	if len(words) != 5 || words[2] != secret || len(words[3]) != 5 {
		return false
	}
	code, message := words[3], words[4]
	r.Code, r.Message, r.Where, r.Internal = code, message, "", true
	if strings.HasPrefix(code, "01") { // class 01: warning
		r.Severity = "WARNING"
	}
	return true
}

// noticeStart is "m4 " in the notation of editNotice: blank for 0, tab for 1.
const noticeStart = " \t\t \t\t \t" + "  \t\t \t  " + "  \t     "
