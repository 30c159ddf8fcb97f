package plan

import (
	"iter"
	"sync"

	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/splice"
	"mbusproxy/sqlfuncs"
)

// Plan is a text that was rewritten. It is immutable and may be shared between sessions.
type Plan struct {
	client   string      // the text as the client sent it
	server   splice.Text // the text for the server, unless moved gives it
	moved    *movedText
	enc      lex.Encoding
	escapes  bool // a backslash escapes in plain strings
	calls    []callSite
	refusals []*Refusal
	headers  bool // see GivesHeaders
	// forwarded says that the text for the server is the client's own; see ForwardBody.
	forwarded bool
	// relations are those that the client names itself and that are called like one of the schema's.
	relations []string
	signals   bool               // see Signals
	writes    bool               // see Writes
	posts     bool               // see Posts
	triggers  bool               // see MakesTriggers
	tag       string             // see Tag
	ours      []preludeStatement // those in the text
	pins      []int              // where literals stand in the client's text on whose values the plan depends

	given     []Given       // what must be known before the text runs
	selectors []int         // of given
	preludes  []preludeCall // in the order of the text
	wait      *preludeCall  // the call that waits; nil: none does
	stmts     []Piece       // the statements that are not empty; only where something is given
	prelude   int           // of a PreludePlan the number of the call; else 0
	next      *Plan         // of a PreludePlan the statement that runs behind it; nil for none
	secret    string        // of the session; "" while the plan belongs to none
	sealed    *sealedText   // the text with the secret; nil: it is made whenever it is asked for

	trace      string        // see ForText
	common     *Common       // nil: it is read of the text
	literals   []lex.Literal // of the client's text; set with common
	prepared   *Prepared     // see Prepared
	repeatable bool          // see Repeatable
	sent       bool          // see Sent: there are no texts, and places are counted in characters
	characters int           // of the client's text; set with sent
	alone      bool          // see Alone
}

// Piece is where a statement of the client's stands.
type Piece struct {
	lex.Span     // in the client's text
	From, To int // the pieces of the server's
}

// callSite is what must be known of a call to edit reports about it.
type callSite struct {
	lex.Span // in the client's text
	fn       *sqlfuncs.Func
	name     string // as called
}

// Functions are the functions of the plan's calls, each as often as it is called.
func (p *Plan) Functions() iter.Seq[*sqlfuncs.Func] {
	return func(yield func(*sqlfuncs.Func) bool) {
		for i := range p.calls {
			if !yield(p.calls[i].fn) {
				return
			}
		}
	}
}

// Signals reports whether the engine wants to know when a transaction that runs the plan has ended.
func (p *Plan) Signals() bool { return p.signals }

// Writes reports whether a call changes something, beyond what Signals tells of.
func (p *Plan) Writes() bool { return p.writes }

// Posts reports whether a call posts messages.
func (p *Plan) Posts() bool { return p.posts }

// MakesTriggers reports whether a call makes a trigger.
func (p *Plan) MakesTriggers() bool { return p.triggers }

// GivesHeaders reports whether a call gives headers to a message, among which consume_after may be.
func (p *Plan) GivesHeaders() bool { return p.headers }

// ownText reports whether a position in the server's text lies in a piece of ours, and for which
// byte of the client's text that piece stands. Positions count characters from 1.
func (p *Plan) ownText(pos int) (in int, own bool) {
	in, copied := p.origin(pos)
	return in, !copied
}

// origin is the byte of the client's text for which a position in the server's stands, and whether it was copied from there.
func (p *Plan) origin(pos int) (in int, copied bool) {
	if p.sent {
		return p.server.Origin(pos - 1)
	}
	return p.Text().Origin(p.enc.ByteOffset(p.Text().SQL, pos))
}

// position is that of a byte of the client's text.
func (p *Plan) position(in int) int {
	if p.sent {
		return min(in, p.characters) + 1
	}
	return p.enc.CharPosition(p.client, in)
}

// callAround returns the innermost call around a byte of the client's text, or nil.
func (p *Plan) callAround(in int) *callSite {
	var found *callSite
	for i := range p.calls {
		c := &p.calls[i]
		if c.Start <= in && in < c.End && (found == nil || c.Start >= found.Start) {
			found = c
		}
	}
	return found
}

// clientPosition returns the position in the client's text that one in the server's stands for.
func (p *Plan) clientPosition(pos int) int {
	in, _ := p.origin(pos)
	return p.position(in)
}

// Refused returns the refusals of the plan's statements, in the order of the text.
func (p *Plan) Refused() []*Refusal { return p.refusals }

// Size returns about how many bytes the plan takes, without making a text that was not asked for yet.
func (p *Plan) Size() int {
	if p.moved != nil {
		return len(p.client) + p.moved.from.Text().Size()
	}
	size := len(p.client) + p.server.Size()
	if p.next != nil {
		size += p.next.Size()
	}
	return size
}

// ClientText returns the client's text that the plan is for.
func (p *Plan) ClientText() string { return p.client }

// movedText is the text for the server of a plan that was transferred. It is made when it is first
// asked for, which it need not be where a prepared statement runs the client's text.
type movedText struct {
	from *Plan
	to   string // the client's text
	by   lex.Mover
	once sync.Once
	made splice.Text
}

// Made returns the plan with its text made, which keeps nothing of the plan that it was transferred from.
func (p *Plan) Made() *Plan {
	q := *p
	q.server, q.moved, q.sealed = p.Text(), nil, nil
	return &q
}

// origins is the text from which that for the server comes, by which moves.
func (p *Plan) origins() (from splice.Text, by lex.Mover) {
	if p.moved == nil {
		return p.server, lex.Mover{}
	}
	return p.moved.from.Text(), p.moved.by
}

// Text returns the text for the server, and where its pieces came from.
func (p *Plan) Text() splice.Text {
	m := p.moved
	if m == nil {
		return p.server
	}
	m.once.Do(func() { m.made = m.from.Text().Transfer(m.to, m.by) })
	return m.made
}
