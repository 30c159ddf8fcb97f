package plan

import (
	"strings"

	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/splice"
)

// ForwardBody returns the plan for a text that is forwarded as it is, if it creates a function or a
// procedure, else nil. The server checks the body then, and explains a call in it by a place in the
// client's text, as it does one that stands there itself; so the plan must tell the two apart.
func ForwardBody(text string, session Session) *Plan {
	p := &Plan{client: text, enc: lex.EncodingOf(session.Encoding), escapes: session.EscapeStrings, server: splice.Copied(text), forwarded: true}
	if !p.createsBody() {
		return nil
	}
	return p
}

// createsBody reports whether a statement of the client's text begins with CREATE FUNCTION or CREATE PROCEDURE.
func (p *Plan) createsBody() bool {
	l := lex.Lexer{Text: p.enc.Parseable(p.client), Escapes: p.escapes}
	var words []string // that the statement begins with
	for begins := true; ; {
		switch t := l.Next(); {
		case t.Kind == lex.End || t.Kind == lex.Open:
			return false
		case t.Kind == lex.Symbol && l.Text[t.Start] == ';':
			words, begins = nil, true
		case begins && t.Kind == lex.Word:
			words = append(words, strings.ToLower(l.Text[t.Start:t.End]))
			switch strings.Join(words, " ") {
			case "create", "create or", "create or replace":
			case "create function", "create procedure", "create or replace function", "create or replace procedure":
				return true
			default:
				begins = false
			}
		default:
			begins = false
		}
	}
}
