package plan

import (
	"strings"

	"mbusproxy/rewrite/splice"
	"mbusproxy/sqlfuncs"
)

// Prelude is a call whose work is done by a prelude statement, which runs before the statement that
// holds the call. What stands in the call's place only reads the outcome.
type Prelude struct {
	Func *sqlfuncs.Func
	Name string           // as called, folded to lower case
	Args map[string]Value // all parameters, under their first names
	Call int              // the number of the call, sqlfuncs.Names.Number
	// Offset is where the call stands in the client's text, in bytes.
	Offset int
	// Guard is an expression that the prelude statement must evaluate before it does anything: it is true, or fails.
	// "" for none.
	Guard string
}

// preludeCall is a Prelude as the plan keeps it.
type preludeCall struct {
	fn   *sqlfuncs.Func
	name string
	call int
	stmt int // index of Plan.stmts
	// guard is Prelude.Guard, without the session's secret.
	guard string
	args  map[string]int // indexes of Plan.given
}

// preludeStatement is a prelude statement in the text of a Query.
type preludeStatement struct {
	ordinal int  // of the statements in the text, from 0
	call    int  // the number of the call that it belongs to
	seen    bool // the client gets its command tag
}

// Preludes returns the calls that need prelude statements, in the order in which these have to run.
func (p *Plan) Preludes() []Prelude {
	out := make([]Prelude, len(p.preludes))
	for i := range p.preludes {
		out[i] = p.prepare(&p.preludes[i])
	}
	return out
}

// Waits reports whether a call waits.
func (p *Plan) Waits() bool { return p.wait != nil }

// Wait returns the call that waits, of which Waits says that there is one. It takes no prelude
// statement, but its arguments have to be known as if it did.
func (p *Plan) Wait() Prelude { return p.prepare(p.wait) }

// Waited returns the plan for after the wait, without what had to be known for that: very many may be kept meanwhile.
func (p *Plan) Waited() *Plan {
	q := *p
	q.given, q.selectors, q.pins, q.wait, q.sealed = nil, nil, nil, nil, nil
	return &q
}

func (p *Plan) prepare(s *preludeCall) Prelude {
	guard := strings.ReplaceAll(s.guard, sqlfuncs.SecretPlace, p.secretOr())
	out := Prelude{Func: s.fn, Name: s.name, Call: s.call, Guard: guard, Offset: p.calls[s.call-1].Start, Args: make(map[string]Value, len(s.args))}
	for name, g := range s.args {
		out.Args[name] = p.given[g].Value
	}
	return out
}

// WithPreludes returns the plan for the simple protocol, in whose text the prelude statements of each call stand before
// the statement that holds it. texts are those of each call in the order of Preludes, in the client's encoding: each is one
// statement without a semicolon, and does not end in a comment up to the line's end. Reports about them point at the call.
func (p *Plan) WithPreludes(texts [][]string) *Plan {
	q := *p
	q.preludes, q.stmts, q.ours = nil, nil, nil
	o := &splice.Output{}
	done, ordinal, next := 0, 0, 0
	write := func(end string, seen bool) {
		call := p.preludes[next].call
		if len(texts[next]) > 0 {
			o.Write(strings.Join(texts[next], "; ")+end, p.calls[call-1].Start)
		}
		for range texts[next] {
			q.ours = append(q.ours, preludeStatement{ordinal: ordinal, call: call, seen: seen})
			ordinal++
		}
		next++
	}
	for i, s := range p.stmts {
		o.Take(p.Text(), done, s.From)
		done = s.To
		if p.procedure(i) {
			// The prelude statement takes the place of the CALL: it can commit only where it is the only statement.
			write("", true)
			if len(p.stmts) == 1 {
				q.tag = "CALL"
			}
			continue
		}
		for next < len(p.preludes) && p.preludes[next].stmt == i {
			write("; ", false)
		}
		o.Take(p.Text(), s.From, s.To)
		ordinal++
	}
	o.Take(p.Text(), done, p.Text().Pieces())
	q.server, q.moved, q.sealed = o.Text(), nil, nil
	return &q
}

// HiddenTags returns which statements of the text are prelude statements, whose replies are not for
// the client. Statements are counted from 0 without empty ones, as the server counts them, which
// answers each with a CommandComplete.
func (p *Plan) HiddenTags() (hidden []int) {
	for _, s := range p.ours {
		if !s.seen {
			hidden = append(hidden, s.ordinal)
		}
	}
	return hidden
}

// PreludePlan returns the plan of a prelude statement that is sent on its own, for that call of p; next is that of the
// one behind it, nil for none. Errors in it point at the call.
func PreludePlan(p *Plan, call int, text string, next *Plan) *Plan {
	return &Plan{
		client: p.client, enc: p.enc, escapes: p.escapes, server: splice.Text{SQL: text}, calls: p.calls, prelude: call, secret: p.secret, next: next,
	}
}

// Next returns the plan of the prelude statement that runs behind that of a PreludePlan; nil where it is the last.
func (p *Plan) Next() *Plan { return p.next }
