package plan

import (
	"slices"

	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/splice"
)

// longText is the length of a text from which on the plan does what it can not to keep it, nor to make it more often than once.
const longText = 64 << 10

// AppendSQL appends what SQL returns. A long text is not made before.
func (p *Plan) AppendSQL(b []byte) []byte {
	if p.Size() < longText {
		return append(b, p.SQL()...)
	}
	from, by := p.origins()
	return from.AppendTransferred(b, p.client, by, p.secretOr(), p.trace)
}

// Sent returns what is kept of the plan when the server has the text: it edits reports, has an outcome and addresses as
// before, and no text if that is long, so that sessions whose statements take long hold none.
func (p *Plan) Sent() *Plan {
	if p.Size() < longText {
		return p
	}
	q := *p
	if p.forwarded {
		q.client, q.server = "", splice.Text{}
		return &q
	}
	q.common, q.literals, q.prepared = p.ownCommon(), nil, nil
	q.given, q.selectors, q.preludes, q.wait, q.stmts, q.pins = nil, nil, nil, nil, nil, nil
	from, by := p.origins()
	at := lex.NewPlaces(p.client, p.enc)
	q.client, q.server, q.moved, q.sealed, q.sent = "", from.Places(by, at, p.enc), nil, nil, true
	q.characters = at.Characters(len(p.client))
	q.calls = slices.Clone(p.calls)
	for i := range q.calls {
		c := &q.calls[i]
		c.Start, c.End = at.Characters(c.Start), at.Characters(c.End)
	}
	q.refusals = slices.Clone(p.refusals)
	for i, r := range q.refusals {
		moved := *r
		moved.Offset = at.Characters(r.Offset)
		q.refusals[i] = &moved
	}
	return &q
}

// ownCommon is what is common to the texts of the plan alone.
func (p *Plan) ownCommon() *Common {
	c := &Common{parameters: p.knownParameters()}
	addresses, _ := p.Addresses()
	for _, a := range addresses {
		c.calls = append(c.calls, commonCall{addressing{Address: a.own()}, -1, -1})
	}
	return c
}
