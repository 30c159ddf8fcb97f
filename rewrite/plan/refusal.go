package plan

import (
	"strconv"

	"mbusproxy/rewrite/splice"
)

// Refusal is an error that the client gets instead of a statement's result.
type Refusal struct {
	Code    string // SQLSTATE
	Message string
	Detail  string
	Hint    string
	Offset  int // in the client's text, in bytes
	// Place says that it is the position of a call that is refused: served in another way, the
	// statement may be possible.
	Place bool
}

func (r *Refusal) Error() string { return r.Message }

// Refuse returns a plan that makes the server fail in place of a whole text, so that the client gets r. It points at
// no place in the text. It is for errors such as a database that cannot be served.
func Refuse(r Refusal) *Plan {
	o := &splice.Output{}
	writeRefusal(o, 0, 0)
	return &Plan{server: o.Text(), refusals: []*Refusal{&r}}
}

// Refuse returns a plan in which the statement around a byte of the client's text fails with r, which points at that
// byte. It is for what is found wrong with one of the plan's Values, whose Offset is passed.
func (p *Plan) Refuse(offset int, r Refusal) *Plan {
	r.Offset = offset
	q := *p
	q.given, q.selectors, q.preludes, q.wait, q.stmts = nil, nil, nil, nil, nil
	q.refusals = append(append([]*Refusal{}, p.refusals...), &r)
	o := &splice.Output{}
	from, to := 0, p.Text().Pieces()
	for _, s := range p.stmts {
		if s.Start <= offset && offset < s.End {
			from, to = s.From, s.To
		}
	}
	o.Take(p.Text(), 0, from)
	writeRefusal(o, len(p.refusals), offset)
	o.Take(p.Text(), to, p.Text().Pieces())
	q.server, q.moved, q.sealed = o.Text(), nil, nil
	return &q
}

// writeRefusal writes a statement that fails when the server analyses it, as the statement that is refused would have.
// EditReport finds the refusal by its number.
func writeRefusal(o *splice.Output, number, anchor int) {
	o.Write("select '"+refusalMarker+strconv.Itoa(number)+" ", anchor)
	o.WriteSecret(anchor)
	o.Write("'::pg_catalog.int4", anchor)
}
