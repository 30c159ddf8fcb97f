package plan

import (
	"strconv"

	"mbusproxy/rewrite/splice"
)

// SQLSTATEs of what the rewriter itself refuses.
const (
	CodeFeatureNotSupported = "0A000"
	CodeUndefinedFunction   = "42883"

	CodeAdminShutdown         = "57P01"
	CodeInsufficientResources = "53000"
)

// Refusal is an error that the client gets instead of a statement's result.
type Refusal struct {
	Code    string // SQLSTATE
	Message string
	Detail  string
	Hint    string
	Offset  int  // byte offset in the client's text
	Place   bool // what is refused is the place of a call
}

func (r *Refusal) Error() string { return r.Message }

// Refuse returns a plan that makes the server fail with r where a text would have run, of which it tells no place. It
// is for errors such as a database that cannot be served.
func Refuse(r Refusal) *Plan {
	o := &splice.Output{}
	writeRefusal(o, 0, 0)
	return &Plan{server: o.Text(), refusals: []*Refusal{&r}}
}

// Refuse returns a plan in which r stands for the statement around a byte of the client's text, and
// points there. It is for what is found wrong with one of the plan's Values, whose Offset it takes.
func (p *Plan) Refuse(offset int, r Refusal) *Plan {
	r.Offset = offset
	q := *p
	q.given, q.selectors, q.preludes, q.stmts = nil, nil, nil, nil
	q.refusals = append(append([]*Refusal{}, p.refusals...), &r)
	o := &splice.Output{}
	from, to := 0, p.server.Pieces()
	for _, s := range p.stmts {
		if s.Start <= offset && offset < s.End {
			from, to = s.From, s.To
		}
	}
	o.Take(p.server, 0, from)
	writeRefusal(o, len(p.refusals), offset)
	o.Take(p.server, to, p.server.Pieces())
	q.server = o.Text()
	return &q
}

// writeRefusal writes a statement that fails when it is analysed, as the refused one would.
func writeRefusal(o *splice.Output, number, anchor int) {
	o.WriteMarked("select '"+refusalMarker+"{k}'::pg_catalog.int4", strconv.Itoa(number), anchor, nil)
}
