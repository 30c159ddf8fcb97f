package plan

import (
	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/splice"
	"mbusproxy/sqlfuncs"
)

// Builder collects what is found out about a text while its calls are placed, and makes the plan of it.
type Builder struct{ plan Plan }

// NewBuilder returns a builder for a client's text; escapes says that a backslash escapes in plain strings.
func NewBuilder(text string, enc lex.Encoding, escapes bool) *Builder {
	return &Builder{Plan{client: text, enc: enc, escapes: escapes}}
}

// AddCall keeps a call that is placed and where it stands in the client's text. It returns its number, counted
// from 1.
func (b *Builder) AddCall(at lex.Span, m sqlfuncs.Match) int {
	b.plan.calls = append(b.plan.calls, callSite{at, m.Func, m.Name})
	return len(b.plan.calls)
}

// Numbered returns how many calls have numbers.
func (b *Builder) Numbered() int { return len(b.plan.calls) }

// ForgetCalls takes back the calls behind the first n.
func (b *Builder) ForgetCalls(n int) { b.plan.calls = b.plan.calls[:n] }

// Pin says that the plan depends on the value of the number or string at that place of the client's text.
func (b *Builder) Pin(pos int) { b.plan.pins = append(b.plan.pins, pos) }

// UseHeaders says that a call gives headers to a message.
func (b *Builder) UseHeaders() { b.plan.headers = true }

// UseSignals says that the engine wants to know when a transaction that runs the plan has ended.
func (b *Builder) UseSignals() { b.plan.signals = true }

// HasBlocks says that the client's text has DO blocks of its own.
func (b *Builder) HasBlocks() { b.plan.blocks = true }

// AddRelations keeps the client's own relations that a refusal of rights must not be taken to be about the schema's.
func (b *Builder) AddRelations(names []string) { b.plan.relations = names }

// Refuse writes what fails with r in the place of a statement.
func (b *Builder) Refuse(r *Refusal) (write func(o *splice.Output)) {
	number := len(b.plan.refusals)
	b.plan.refusals = append(b.plan.refusals, r)
	return func(o *splice.Output) { writeRefusal(o, number, r.Offset) }
}

// AddSelector keeps the selector of a call.
func (b *Builder) AddSelector(g Given) { b.plan.selectors = append(b.plan.selectors, b.keep(g)) }

// AddPrelude keeps that a call is a step, with all its arguments. stmt is the number of its statement in the text,
// guard is Step.Guard.
func (b *Builder) AddPrelude(call, stmt int, guard string, values map[string]Given) {
	site := b.plan.calls[call-1]
	s := preludeCall{fn: site.fn, name: site.name, call: call, stmt: stmt, guard: guard, args: make(map[string]int, len(values))}
	for _, p := range s.fn.Params {
		s.args[p.Name] = b.keep(values[p.Name])
	}
	b.plan.preludes = append(b.plan.preludes, s)
}

func (b *Builder) keep(g Given) int {
	b.plan.given = append(b.plan.given, g)
	return len(b.plan.given) - 1
}

// Finish returns the plan with that text for the server, where stmts are its statements that are not empty.
func (b *Builder) Finish(server splice.Text, stmts []Piece) *Plan {
	p := b.plan
	p.server = server
	if len(p.given) > 0 {
		p.stmts = stmts
		p.decode()
	}
	return &p
}
