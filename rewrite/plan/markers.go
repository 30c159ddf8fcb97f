package plan

import (
	"regexp"
	"strconv"
	"strings"
)

// Markers are how SQL, without PL/pgSQL, raises the errors and notices of the engine: it makes the
// server complain about a value, which the server quotes in a message of its own, in whatever
// language. The session's secret in a marker proves that it is ours. Functions that are stored with
// the schema do not know it: see stored.
const (
	// errorMarker begins a text that is cast to integer: "mbus4-error <call> <secret> <SQLSTATE> <message>"; in stored
	// functions it is without the secret.
	errorMarker = "mbus4-error "
	// refusalMarker begins the literal of a refused statement: "mbus4-refusal <number> <secret>".
	refusalMarker = "mbus4-refusal "
)

// EditReport is Plan.EditReport for a report that belongs to no plan, for example that of an
// EXECUTE. It turns markers with the session's secret into errors and notices, and explains errors
// about calls that the proxy did not see.
func EditReport(r *Report, secret string) bool {
	if r.Code == codeInvalidText {
		if _, ok := editMarker(r, secret, nil); ok {
			r.Position = 0
			return true
		}
	}
	return editNotice(r, secret) || editUnseen(r, false)
}

// stored matches the first line of a report's context where it names a function of ours that is stored in the database:
// those of the schema that raise errors, and those behind the views of mbus4.create_view. Their markers are
// believed without a secret, for neither they nor what they call ever casts to integer what is in a message. Whoever
// makes a function of such a name can have it say anything, but a function can raise any error without us, too.
var stored = regexp.MustCompile(`^[^"»«“”„']*["»«“”„'][ \x{a0}]*(check_queue|at_no_consumer_[0-9a-f]{8}|estimated_messages_of|new_temporary_consumer|no_selector|view_[0-9a-f]{16}_(?:consume|post))[ \x{a0}]*["»«“”„']`)

// helper matches a line of a report's context that names a function which the texts behind views use, in PL/pgSQL.
var helper = regexp.MustCompile(`[ \x{a0}]mbus4\.at_post_given_[0-9a-f]{8}\(`)

// fromStored reports whether it was a stored function of ours that cast a marker to integer. Of one
// in PL/pgSQL the first line shows the expression, the second the function.
func fromStored(r *Report) bool {
	first, rest, _ := strings.Cut(r.Where, "\n")
	second, _, _ := strings.Cut(rest, "\n")
	return r.File == fileIntegers && (stored.MatchString(first) || helper.MatchString(first) || helper.MatchString(second))
}

// editMarker turns an error with the engine's marker into what the marker says. call is the number
// of the call, or 0 where the SQL that failed belongs to none. site returns the call of a number,
// or nil.
func editMarker(r *Report, secret string, site func(call int) *callSite) (call int, ok bool) {
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
	var c *callSite
	if site != nil {
		c = site(call)
	}
	r.Code, r.Message, r.Detail, r.Hint, r.Where = code, message, "", hintFor(code, message, c), ""
	r.Internal = true
	return call, true
}

// marked returns what stands behind marker in a message that quotes it, up to the closing quote.
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

// editNotice turns a notice with the engine's marker into what the marker says. The engine raises a
// NOTICE, or with an SQLSTATE of class 01 a WARNING, by making the server complain about a tsquery
// without lexemes. Of all that an expression can call, that alone gives a NOTICE (so that
// client_min_messages holds) and quotes its argument. A tsquery has no lexemes if it is nothing but
// blanks and tabs, so these are the bits of the notice's text.
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
