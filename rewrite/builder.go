package rewrite

import "mbusproxy/sqlfuncs"

// builder collects what is found out about a text while its calls are placed, and makes the plan of it.
type builder struct{ plan Plan }

// newBuilder returns a builder for a client's text; escapes says that a backslash escapes in plain strings.
func newBuilder(text string, enc encodingKind, escapes bool) *builder {
	return &builder{Plan{client: text, enc: enc, escapes: escapes}}
}

// addCall keeps a call that is placed and where it stands in the client's text. It returns its number, counted
// from 1.
func (b *builder) addCall(at span, m sqlfuncs.Match) int {
	b.plan.calls = append(b.plan.calls, callSite{at, m.Func, m.Name})
	return len(b.plan.calls)
}

// numbered returns how many calls have numbers.
func (b *builder) numbered() int { return len(b.plan.calls) }

// forgetCalls takes back the calls behind the first n.
func (b *builder) forgetCalls(n int) { b.plan.calls = b.plan.calls[:n] }

// pin says that the plan depends on the value of the number or string at that place of the client's text.
func (b *builder) pin(pos int) { b.plan.pins = append(b.plan.pins, pos) }

// useHeaders says that a call gives headers to a message.
func (b *builder) useHeaders() { b.plan.headers = true }

// useSignals says that the engine wants to know when a transaction that runs the plan has ended.
func (b *builder) useSignals() { b.plan.signals = true }

// hasBlocks says that the client's text has DO blocks of its own.
func (b *builder) hasBlocks() { b.plan.blocks = true }

// addRelations keeps the client's own relations that a refusal of rights must not be taken to be about the schema's.
func (b *builder) addRelations(names []string) { b.plan.relations = names }

// refuse writes what fails with r in the place of a statement.
func (b *builder) refuse(r *Refusal) (write func(o *output)) {
	number := len(b.plan.refusals)
	b.plan.refusals = append(b.plan.refusals, r)
	return func(o *output) { writeRefusal(o, number, r.offset) }
}

// addSelector keeps the selector of a call.
func (b *builder) addSelector(g given) { b.plan.selectors = append(b.plan.selectors, b.keep(g)) }

// addStep keeps that a call is a step, with all its arguments. stmt is the number of its statement in the text,
// guard is Step.Guard.
func (b *builder) addStep(call, stmt int, guard string, values map[string]given) {
	site := b.plan.calls[call-1]
	s := stepCall{fn: site.fn, name: site.name, call: call, stmt: stmt, guard: guard, args: make(map[string]int, len(values))}
	for _, p := range s.fn.Params {
		s.args[p.Name] = b.keep(values[p.Name])
	}
	b.plan.steps = append(b.plan.steps, s)
}

func (b *builder) keep(g given) int {
	b.plan.given = append(b.plan.given, g)
	return len(b.plan.given) - 1
}

// finish returns the plan with that text for the server, where stmts are its statements that are not empty.
func (b *builder) finish(server spliced, stmts []piece) *Plan {
	p := b.plan
	p.server = server
	if len(p.given) > 0 {
		p.stmts = stmts
		p.decode()
	}
	return &p
}
