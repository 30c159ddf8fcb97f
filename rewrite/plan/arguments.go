package plan

import (
	"slices"
	"strings"

	"mbusproxy/rewrite/lex"
	"mbusproxy/sqlfuncs"
)

// Hints about values that the server cannot read as what a call wants.
const (
	bracesHint = "Write it with braces, for example hstore('consume_after', '{iid1,iid2}') or hstore('consume_after', array[$1]::text)."
	hstoreHint = "Data, headers and properties are of type hstore: write 'a=>1, b=>2' or hstore('a', '1')."
	jsonHint   = "make one value, hstore('json', '{…}'), or one for each key: (select hstore(array_agg(key), array_agg(value)) from jsonb_each_text('{…}'))."
	timeHint   = "delayed_until and expires are points in time: write '2030-12-31 23:59' or now() + interval '1 hour'."
)

// editValue adds a hint to an error of the server about a value that it met while the statement
// ran, or in a Bind: nothing says where the value came from.
func (p *Plan) editValue(r *Report) bool {
	if r.Hint != "" || !p.postsValues() || r.Where != "" && !strings.Contains(r.Where, "$") && !strings.Contains(r.Where, "at_post") {
		return false // or it is about what a client's function does
	}
	switch {
	case r.File == fileArrays && r.Code == codeInvalidText && p.headers:
		r.Hint = "The headers consume_after and seenby are arrays. " + bracesHint
	case r.File == fileBooleans && r.Code == codeInvalidText && p.headers:
		r.Hint = "The header Redeploy is a boolean: 'Redeploy=>true'."
	case r.File == fileTimes && strings.Contains(r.Message, "timestamp"):
		r.Hint = timeHint
	case r.File == fileHstore:
		r.Hint = hstoreHint + " JSON is none: " + jsonHint
	default:
		return false
	}
	return true
}

// postsValues reports whether a call takes hstores and times.
func (p *Plan) postsValues() bool { return slices.ContainsFunc(p.calls, callSite.postsValues) }

func (c callSite) postsValues() bool {
	return slices.ContainsFunc(c.fn.Params, func(p sqlfuncs.Param) bool { return p.Type == sqlfuncs.Hstore })
}

// editArgument adds a hint to an error of the server about something that stands in a call of the client's text.
func (p *Plan) editArgument(r *Report, in int) {
	if c := p.callAround(in); c == nil || !c.postsValues() {
		return
	}
	switch {
	case r.File == fileTimes && r.Hint == "" && strings.Contains(r.Message, "timestamp"):
		r.Hint = timeHint
	case r.File == fileHstore && r.Hint == "":
		given, _ := p.literalAt(in)
		if given = strings.TrimSpace(given); strings.HasPrefix(given, "{") || strings.HasPrefix(given, "[") {
			r.Hint = "This looks like JSON. " + hstoreHint + " Of JSON " + jsonHint
		} else {
			r.Hint = hstoreHint
		}
	case jsonForHstore(r.Message) && (r.Code == codeCannotCoerce || r.Code == codeUndefinedFunction && r.File == fileFunctions):
		r.Hint = "Of JSON " + jsonHint
	}
}

// jsonForHstore reports whether the server says of a type of JSON that it does not become an
// hstore, in whatever language.
func jsonForHstore(message string) bool {
	return strings.Contains(message, "json") && strings.Contains(message, "hstore")
}

// literalAt returns what the string literal says that begins at a byte of the client's text.
func (p *Plan) literalAt(in int) (string, bool) {
	text := p.client[min(in, len(p.client)):]
	l := lex.Lexer{Text: p.enc.Parseable(text), Escapes: p.escapes}
	t := l.Next()
	if t.Kind != lex.String && t.Kind != lex.Prefixed {
		return "", false
	}
	return lex.DecodeLiteral(text[t.Start:t.End], p.enc, p.escapes)
}
