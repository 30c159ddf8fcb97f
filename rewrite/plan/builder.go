package plan

import (
	"slices"

	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/splice"
	"mbusproxy/sqlfuncs"
)

// Builder makes a Plan. It collects what is found out about a text while its calls are placed.
type Builder struct{ plan Plan }

// NewBuilder returns a builder for a client's text; escapes says that a backslash escapes in plain strings.
func NewBuilder(text string, enc lex.Encoding, escapes bool) *Builder {
	return &Builder{Plan{client: text, enc: enc, escapes: escapes}}
}

// AddCall gives a call its number, counted from 1. at is where it stands in the client's text.
func (b *Builder) AddCall(at lex.Span, m sqlfuncs.Match) int {
	b.plan.calls = append(b.plan.calls, callSite{at, m.Func, m.Name})
	return len(b.plan.calls)
}

// Calls returns how many calls have a number.
func (b *Builder) Calls() int { return len(b.plan.calls) }

// ForgetCalls takes the numbers of all but the first n calls back.
func (b *Builder) ForgetCalls(n int) { b.plan.calls = b.plan.calls[:n] }

// Pin says that the plan depends on the value of the literal that begins at that byte of the client's text.
func (b *Builder) Pin(pos int) { b.plan.pins = append(b.plan.pins, pos) }

// UseHeaders says that Plan.GivesHeaders is true.
func (b *Builder) UseHeaders() { b.plan.headers = true }

// UseSignals says that Plan.Signals is true.
func (b *Builder) UseSignals() { b.plan.signals = true }

// UseWrites says that Plan.Writes is true.
func (b *Builder) UseWrites() { b.plan.writes = true }

// UsePosts says that Plan.Posts is true.
func (b *Builder) UsePosts() { b.plan.posts = true }

// UseTriggers says that Plan.MakesTriggers is true.
func (b *Builder) UseTriggers() { b.plan.triggers = true }

// AddRelation keeps the name of a relation that the client names itself and that is not the schema's.
func (b *Builder) AddRelation(name string) {
	if slices.Contains(schemaNames(), name) && !slices.Contains(b.plan.relations, name) {
		b.plan.relations = append(b.plan.relations, name)
	}
}

// Refuse keeps the refusal of a statement and returns what writes the text in its place.
func (b *Builder) Refuse(r *Refusal) (write func(o *splice.Output)) {
	number := len(b.plan.refusals)
	b.plan.refusals = append(b.plan.refusals, r)
	return func(o *splice.Output) { writeRefusal(o, number, r.Offset) }
}

// AddSelector keeps the selector of a call.
func (b *Builder) AddSelector(g Given) { b.plan.selectors = append(b.plan.selectors, b.keep(g)) }

// AddPrelude says that a call needs a prelude statement. call is its number, stmt that of its
// statement, values has all its arguments; guard is Prelude.Guard.
func (b *Builder) AddPrelude(call, stmt int, guard string, values map[string]Given) {
	site := b.plan.calls[call-1]
	s := preludeCall{fn: site.fn, name: site.name, call: call, stmt: stmt, guard: guard, args: make(map[string]int, len(values))}
	for _, p := range s.fn.Params {
		s.args[p.Name] = b.keep(values[p.Name])
	}
	b.plan.preludes = append(b.plan.preludes, s)
}

// AddWait says that a call waits. call is its number; values has all its arguments.
func (b *Builder) AddWait(call int, values map[string]Given) {
	site := b.plan.calls[call-1]
	w := &preludeCall{fn: site.fn, name: site.name, call: call, args: make(map[string]int, len(values))}
	for _, p := range site.fn.Params {
		w.args[p.Name] = b.keep(values[p.Name])
	}
	b.plan.wait = w
}

func (b *Builder) keep(g Given) int {
	b.plan.given = append(b.plan.given, g)
	return len(b.plan.given) - 1
}

// Finish returns the plan. server is the text for the server, stmts are the statements that are not empty.
func (b *Builder) Finish(server splice.Text, stmts []Piece) *Plan {
	p := b.plan
	p.server = server
	if len(p.given) > 0 {
		p.stmts = stmts
		p.decode()
	}
	return &p
}
