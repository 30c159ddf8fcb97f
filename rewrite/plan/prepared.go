package plan

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/splice"
)

// Preparable says how the texts with one skeleton are run by a statement that is prepared once in a
// session. Of those that come in a Query the literals of the call's arguments become parameters. It
// is immutable.
//
// Only a text that names nothing but the call, columns of what it returns and aliases is
// preparable. What a name of the client's means may change while the statement stays prepared, and
// so may the best plan for the client's own tables.
type Preparable struct {
	id       uint64
	base     *Plan         // of one of the texts; the server's text has the parameters; nil: no text of a Query is prepared
	literals []lex.Literal // of that text
	params   []int         // indexes of literals, or traceParam, $1 first
}

// traceParam stands among Preparable.params for the trace context.
const traceParam = -1

var preparables atomic.Uint64 //nolint:gochecknoglobals // gives each Preparable a number of its own

// NewPreparable returns nil where the plan's text is not preparable. literals are those of the text.
func NewPreparable(p *Plan, literals []lex.Literal) *Preparable {
	plain, parameters := p.plainCall()
	if !plain {
		return nil
	}
	made := &Preparable{literals: literals}
	if parameters {
		return made
	}
	types := map[int]string{} // of literals
	server, ok := p.Text().Replace(func(before string, piece splice.Piece, behind string) (string, bool) {
		if piece.Trace {
			if !slices.Contains(made.params, traceParam) {
				made.params = append(made.params, traceParam)
			}
			return "$" + strconv.Itoa(slices.Index(made.params, traceParam)+1), true
		}
		for i, l := range literals {
			token := l.Span
			if !l.Number {
				token = lex.Span{Start: l.Start - 1, End: l.End + 1}
			}
			if !piece.Copied || piece.End <= token.Start || token.End <= piece.Start || slices.Contains(p.pins, l.Start) {
				continue
			}
			typ, cast := strings.CutPrefix(behind, ")::")
			typ = typ[:max(0, strings.IndexAny(typ+",", ",)\n"))]
			same, known := types[i]
			if piece.Span != token || !cast || !strings.HasSuffix(before, "(") || known && same != typ || l.Number && !integer(typ, l.Big) {
				return "", false
			}
			if !known {
				types[i] = typ
				made.params = append(made.params, i)
			}
			return "$" + strconv.Itoa(slices.Index(made.params, i)+1), true
		}
		return piece.Text, true
	})
	if !ok {
		return made
	}
	base := *p
	base.server, base.moved, base.sealed = server, nil, nil
	made.base, made.id = &base, preparables.Add(1)
	return made
}

// integer reports whether the SQL of a type means one of whole numbers, large enough for a bigint if big is set.
func integer(typ string, big bool) bool {
	typ = strings.TrimPrefix(typ, "pg_catalog.")
	return typ == "bigint" || typ == "int8" || !big && (typ == "integer" || typ == "int4")
}

// plainCall reports whether the client's text is one call, alone in a select list or in FROM, with
// literals and parameters for arguments; and whether there are parameters.
func (p *Plan) plainCall() (plain, parameters bool) {
	given := len(p.given)
	if p.wait != nil {
		given -= len(p.wait.args) // they are for the wait alone
	}
	if len(p.calls) != 1 || given+len(p.preludes)+len(p.selectors)+len(p.refusals) > 0 || p.forwarded {
		return false, false
	}
	s := tokens{lexer: lex.Lexer{Text: p.enc.Parseable(p.client), Escapes: p.escapes}}
	s.next()
	if !s.word("select") {
		return false, false
	}
	if !s.at(p.calls[0].Start) {
		for ok := s.symbol("*") || s.column(); ok && !s.word("from"); ok = s.column() {
			if !s.symbol(",") {
				return false, false
			}
		}
	}
	return s.at(p.calls[0].Start) && s.call() && s.alias() && (s.symbol(";") || true) && s.Kind == lex.End, s.parameters
}

// tokens reads a text token by token; the Token is the one at hand.
type tokens struct {
	lexer lex.Lexer
	lex.Token
	parameters bool // some were read
}

func (s *tokens) next() { s.Token = s.lexer.Next() }

func (s *tokens) at(pos int) bool { return s.Start == pos && s.Kind != lex.End }

// take goes on to the next token if that at hand is as wanted.
func (s *tokens) take(wanted bool) bool {
	if wanted {
		s.next()
	}
	return wanted
}

func (s *tokens) text() string { return s.lexer.Text[s.Start:s.End] }

func (s *tokens) word(w string) bool {
	return s.take(s.Kind == lex.Word && strings.EqualFold(s.text(), w))
}

func (s *tokens) symbol(c string) bool {
	return s.take((s.Kind == lex.Symbol || s.Kind == lex.Operator) && s.text() == c)
}

func (s *tokens) name() bool { return s.take(s.Kind == lex.Word || s.Kind == lex.Name) }

// column reads a column's name, which may have an alias in front.
func (s *tokens) column() bool { return s.name() && (!s.symbol(".") || s.name()) }

// call reads a call with its schema.
func (s *tokens) call() bool {
	if !s.name() || !s.symbol(".") || !s.name() || !s.symbol("(") {
		return false
	}
	if s.symbol(")") {
		return true
	}
	for s.argument() {
		if s.symbol(")") {
			return true
		}
		if !s.symbol(",") {
			break
		}
	}
	return false
}

// argument reads a literal or parameter, which may have the name of the function's parameter in front.
func (s *tokens) argument() bool {
	if s.word("null") || s.word("true") || s.word("false") {
		return true
	}
	if s.name() && !s.symbol("=>") && !s.symbol(":=") {
		return false
	}
	if s.Kind == lex.Param {
		s.parameters = true
		return s.take(true)
	}
	return s.word("null") || s.word("true") || s.word("false") ||
		s.take(s.Kind == lex.String || s.Kind == lex.Number && strings.Trim(s.text(), "0123456789") == "")
}

// alias reads the alias of a column or of a row, if there is one.
func (s *tokens) alias() bool {
	if s.word("as") {
		return s.name()
	}
	return s.name() || true
}

// Prepared is a text that is run by a prepared statement. It is immutable.
type Prepared struct {
	made     *Preparable
	text     string        // the client's
	literals []lex.Literal // of text
	secret   string        // of the session
	trace    string        // see Plan.ForText
	values   []string
}

// prepare returns how another text with the skeleton is run, which the plan must fit; nil where a
// literal cannot be read.
func (m *Preparable) prepare(text string, literals []lex.Literal, trace string) *Prepared {
	values := make([]string, len(m.params))
	for i, n := range m.params {
		if n == traceParam {
			values[i] = trace
			continue
		}
		l := literals[n]
		if !l.Number {
			l.Start, l.End = l.Start-1, l.End+1
		}
		var ok bool
		if values[i], ok = lex.DecodeLiteral(text[l.Start:l.End], m.base.enc, m.base.escapes); !ok {
			return nil
		}
	}
	return &Prepared{made: m, text: text, literals: literals, trace: trace, values: values}
}

// ForText returns the plan with what is known of texts with its skeleton, which may be nil, with the
// trace context of its text, which is Session.Trace, and with what Prepared and Repeatable are to
// return, with nil for nil and false. literals are those of the plan's text.
func (p *Plan) ForText(c *Common, m *Preparable, literals []lex.Literal, trace string) *Plan {
	q := *p
	if q.trace != trace {
		q.trace, q.sealed = trace, nil
	}
	q.common, q.literals, q.prepared, q.repeatable, q.alone = c, literals, nil, m != nil, p.alone || m != nil
	switch {
	case len(q.client) >= longText: // its text is made when it is sent, and it is not run by a prepared statement, which would keep it
	case m != nil && m.base != nil:
		q.prepared = m.prepare(q.client, literals, trace)
	case q.wait == nil: // what waits may be asked for much later
		q.server, q.moved, q.sealed = p.Text(), nil, nil
	}
	return &q
}

// Unprepared returns the plan of a text that is not run by a prepared statement.
func (p *Plan) Unprepared() *Plan { return p.ForText(nil, nil, nil, p.trace) }

// Alone reports whether the text is one call and nothing else, so that the rows of the reply are what the call gives.
func (p *Plan) Alone() bool { return p.alone }

// Repeatable reports whether a statement may be prepared from the text once for all times that it comes in a Parse.
func (p *Plan) Repeatable() bool { return p.repeatable }

// Parameterized returns the plan with the trace context as a parameter of the protocol, behind
// those of the text; the plan itself where its text has no place for one.
func (p *Plan) Parameterized() *Plan {
	if p.trace == "" {
		return p
	}
	name := "$" + strconv.Itoa(p.Parameters()+1)
	q := *p
	q.server, _ = p.Text().Replace(func(_ string, piece splice.Piece, _ string) (string, bool) {
		if piece.Trace {
			return name, true
		}
		return piece.Text, true
	})
	q.moved, q.sealed, q.trace = nil, nil, ""
	return &q
}

// TraceKept returns the trace context where a message keeps it; "" where there is none, or nothing is posted.
func (p *Plan) TraceKept() string {
	if p.trace == "" || !p.posts {
		return ""
	}
	return p.trace
}

// Prepared returns how the plan's text is run by a prepared statement; nil where it is not.
func (p *Plan) Prepared() *Prepared {
	if p.prepared == nil {
		return nil
	}
	q := *p.prepared
	q.secret = p.secret
	return &q
}

// ID is the same for all texts that are run by one statement, in all sessions, and for no others.
func (p *Prepared) ID() uint64 { return p.made.id }

// SQL returns the text of the statement, whose parameters are $1, $2 and so on.
func (p *Prepared) SQL() string { return p.made.base.Text().Filled(p.secret, "") }

// Values returns the values of the parameters, as texts in the client's encoding.
func (p *Prepared) Values() []string { return p.values }

// EditReport is as Plan.EditReport, for reports about the statement and its parameters.
func (p *Prepared) EditReport(r *Report) bool {
	q := p.made.base.Transfer(p.text, p.made.literals, p.literals).For(p.secret)
	own, at := valuesContext(r)
	n, ok := parameterOf(at)
	if !ok || n > len(p.values) {
		return q.EditReport(r)
	}
	// In the client's text the value is a literal: what is wrong with it the server would say with the place.
	r.Where = own
	if r.Code == codeWrongEncoding {
		return true
	}
	if p.made.params[n-1] == traceParam { // it is ours and right
		return true
	}
	l := p.literals[p.made.params[n-1]]
	in := l.Start
	if !l.Number {
		in--
	}
	q.editArgument(r, in)
	r.Position = q.enc.CharPosition(q.client, in)
	return true
}

const codeWrongEncoding = "22021" // character_not_in_repertoire, which has no place in the client's text either

// valuesContext splits the context of an error in what the reader of a value says of it, which is
// one line where the value is JSON and nothing else, and what is behind that.
func valuesContext(r *Report) (own, rest string) {
	if r.File != "jsonfuncs.c" {
		return "", r.Where
	}
	own, rest, _ = strings.Cut(r.Where, "\n")
	return own, rest
}

// parameterOf returns the n of the context that the server gives to an error about a parameter of a
// Bind: one line, in the server's language, which ends in $n, or in the value behind it.
func parameterOf(where string) (n int, ok bool) {
	line, digits, ok := strings.Cut(where, "$")
	if !ok || strings.Contains(line, "\n") {
		return 0, false
	}
	behind := strings.TrimLeft(digits, "0123456789")
	if behind != "" && !strings.HasPrefix(behind, " = ") {
		return 0, false
	}
	n, err := strconv.Atoi(digits[:len(digits)-len(behind)])
	return n, err == nil && n > 0
}
