package plan

import (
	"slices"
	"sort"

	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/splice"
)

// Fits reports whether the plan can be transferred to another text with the same skeleton: the literals that the plan
// depends on are the same. from and to are the literals of the plan's text and of the other.
func (p *Plan) Fits(text string, from, to []lex.Literal) bool {
	for _, pin := range p.pins {
		i := sort.Search(len(from), func(i int) bool { return from[i].Start >= pin })
		if i < len(from) && from[i].Start == pin && p.client[from[i].Start:from[i].End] != text[to[i].Start:to[i].End] {
			return false
		}
	}
	return true
}

// Transfer returns the plan for another text with the same skeleton, which the plan must fit. from and to are the
// literals of the plan's text and of the other.
func (p *Plan) Transfer(text string, from, to []lex.Literal) *Plan {
	q := *p
	q.client, q.calls, q.common, q.literals = text, slices.Clone(p.calls), nil, nil
	m := lex.Mover{From: from, To: to}
	for i, c := range q.calls {
		q.calls[i].Span = m.MoveSpan(c.Span)
	}
	if len(p.given) > 0 {
		q.given = make([]Given, len(p.given))
		for i, g := range p.given {
			q.given[i] = g.move(m)
		}
	}
	if len(p.stmts) > 0 {
		q.stmts = make([]Piece, len(p.stmts))
		for i, s := range p.stmts {
			q.stmts[i] = Piece{m.MoveSpan(s.Span), s.From, s.To}
		}
	}
	if len(p.refusals) > 0 {
		q.refusals = make([]*Refusal, len(p.refusals))
		for i, r := range p.refusals {
			moved := *r
			moved.Offset = m.Move(r.Offset)
			q.refusals[i] = &moved
		}
	}
	q.pins = slices.Clone(p.pins)
	for i, pin := range p.pins {
		q.pins[i] = m.Move(pin)
	}
	q.server, q.moved = splice.Text{}, &movedText{from: p, to: text, by: m}
	q.decode()
	return &q
}
