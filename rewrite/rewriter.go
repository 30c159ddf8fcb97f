package rewrite

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"mbusproxy/sqlfuncs"
)

// Env is what a rewritten text depends on besides the client's text.
type Env struct {
	HstoreSchema string // schema that holds the extension hstore, quoted where it must be
	// Ordered says that messages wait for others in the database, or may. A plan made without it
	// is right all the same; it leaves waking them to the engine.
	Ordered bool
	// Selective says that consumers or triggers of the database have selectors. A plan made without
	// it is right all the same.
	Selective bool
}

// Session is what a text's meaning depends on in the session that sends it.
type Session struct {
	Encoding string // client_encoding
	// EscapeStrings is set while standard_conforming_strings is off: a backslash escapes in plain
	// literals, too.
	EscapeStrings bool
	// Void lists the parameters ($n) that Parse declares as void. Postgres drops them from the
	// arguments of a call; JDBC sends one for the result in {? = call f(?)}.
	Void []int
	// Prepared says that the text may run more than once, and later than now.
	Prepared bool
	// Answer says which of the text's Candidates are ours: a 1 for each that is.
	Answer string
}

// Rewriter rewrites statements. It is safe for concurrent use.
type Rewriter struct {
	fragments   Fragments
	unqualified *Unqualified
	cache       *cache
}

// New returns a Rewriter that serves calls with the SQL of fragments.
func New(fragments Fragments) *Rewriter { return NewServing(fragments, nil) }

// NewServing returns a Rewriter that also serves calls without the schema, by the names given.
func NewServing(fragments Fragments, unqualified *Unqualified) *Rewriter {
	return &Rewriter{fragments: fragments, unqualified: unqualified, cache: newCache(cacheEntries)}
}

// Mentions is the function Mentions, and true also for texts that may have Candidates.
func (r *Rewriter) Mentions(text []byte) bool {
	return Mentions(text) || r.unqualified.mentions(text)
}

// key is what is known of texts by.
func (r *Rewriter) key(skel string, session Session) cacheKey {
	k := cacheKey{skel, session.Encoding, session.EscapeStrings, fmt.Sprint(session.Void), session.Answer}
	if k.answer != "" && session.Prepared {
		k.answer += "p"
	}
	return k
}

// Rewrite returns the plan for text, which may hold several statements, or nil when it is to be
// forwarded as it is: it holds no call, or it does not parse, and then the server's error is the
// right one. env is asked only when there is a call, or a table of the schema, which may be the first that a
// database hears of us.
func (r *Rewriter) Rewrite(text string, session Session, env func() (Env, *Refusal)) *Plan {
	enc := kindOf(session.Encoding)
	skel, literals := skeleton(text, enc, session.EscapeStrings)
	key := r.key(skel, session)
	known := r.cache.get(key)
	if known != nil && known.calls && !known.plan.fits(text, known.literals, literals) {
		known = nil
	}
	var doc *document
	if known == nil {
		if doc = r.read(text, session); !doc.hasCalls() {
			known = &cached{tables: doc.usesTables()}
			r.cache.put(key, known)
		}
	}
	if known != nil && !known.calls {
		if known.tables {
			_, _ = env() // where that fails the server says what is missing
		}
		return nil
	}
	e, refusal := env()
	if refusal != nil {
		return Refuse(text, session.Encoding, *refusal)
	}
	if known != nil && known.env == e {
		if known.plan.client == text {
			return known.plan.checked()
		}
		return known.plan.transfer(text, known.literals, literals).checked()
	}
	if doc == nil {
		if doc = r.read(text, session); !doc.hasCalls() { // hstore has moved since the text was seen last
			return nil
		}
	}
	p := r.rewrite(doc, e)
	r.cache.put(key, &cached{calls: true, env: e, plan: p, literals: literals})
	return p.checked()
}

// document is a text that parses, with its calls. nil stands for one that does not.
type document struct {
	text    string
	enc     encodingKind
	escapes bool
	tree    *pg_query.ParseResult
	src     *source
	calls   [][]*call // by statement

	skeleton string
	prepared bool
}

// read finds the calls of ours in a text.
func (r *Rewriter) read(text string, session Session) *document {
	d := read(text, session, r.unqualified)
	d.settle(session.Answer)
	return d
}

// read finds the calls in a text, unqualified ones that may be ours included.
func read(text string, session Session, unqualified *Unqualified) *document {
	d := &document{text: text, enc: kindOf(session.Encoding), escapes: session.EscapeStrings, prepared: session.Prepared}
	var literals []literal
	d.skeleton, literals = skeleton(text, d.enc, session.EscapeStrings)
	parsed := d.enc.parseable(text)
	if session.EscapeStrings {
		parsed = blank(parsed, literals)
	}
	var err error
	if d.tree, err = pg_query.Parse(parsed); err != nil {
		return nil
	}
	if d.src, err = scan(text, parsed); err != nil {
		return nil
	}
	for _, raw := range d.tree.Stmts {
		served := unqualified
		if _, ok := evaluated(raw.Stmt); !ok {
			served = nil // what is stored is left to the server
		}
		calls := d.src.findCalls(raw.ProtoReflect(), session.Void, served)
		sort.Slice(calls, func(i, j int) bool { return calls[i].start < calls[j].start })
		calls = slices.CompactFunc(calls, func(a, b *call) bool { return a.span == b.span }) // see callOf
		d.calls = append(d.calls, calls)
	}
	return d
}

func (d *document) hasCalls() bool {
	return d != nil && slices.ContainsFunc(d.calls, func(calls []*call) bool { return len(calls) > 0 })
}

// usesTables reports whether the text reads or writes a table or view of the schema by its full name, as
// in insert into mbus4.work_queue.
func (d *document) usesTables() bool {
	if d == nil {
		return false
	}
	found := false
	for _, raw := range d.tree.Stmts {
		if _, ok := evaluated(raw.Stmt); !ok || raw.Stmt.GetCopyStmt() != nil && raw.Stmt.GetCopyStmt().Query == nil {
			continue // a dump that is being restored makes the tables itself
		}
		walkMessages(raw.ProtoReflect(), func(m protoreflect.Message) bool {
			v, ok := m.Interface().(*pg_query.RangeVar)
			found = found || ok && v.Schemaname == sqlfuncs.Schema
			return !found
		})
	}
	return found
}

// rewrite places and splices the calls of all statements.
func (r *Rewriter) rewrite(d *document, env Env) *Plan {
	p := &Plan{client: d.text, enc: d.enc, escapes: d.escapes, relations: ownRelations(d)}
	prefix := freePrefix(d.skeleton) // what is in a literal is no name
	ed := &edits{text: d.text}
	src := d.src
	pieces := make([]piece, len(d.tree.Stmts))
	for i, raw := range d.tree.Stmts {
		reg := src.region(raw)
		p.blocks = p.blocks || raw.Stmt.GetDoStmt() != nil
		pieces[i].span = src.tokens(reg.first, reg.end)
		if len(d.calls[i]) == 0 {
			continue
		}
		for _, c := range d.calls[i] {
			p.signals = p.signals || c.match.Func.Signals
		}
		st := &statement{
			src:       src,
			ed:        ed,
			plan:      p,
			fragments: r.fragments,
			prefix:    prefix,
			env:       env,
			calls:     d.calls[i],
		}
		st.indexCalls(raw.Stmt)
		mark, placed := len(ed.list), len(p.calls)
		refusal := st.guardCalls(raw.Stmt, d.prepared || len(d.tree.Stmts) > 1)
		if refusal == nil {
			refusal = st.place(raw.Stmt, reg)
		}
		if refusal != nil && refusal.place {
			p.calls = p.calls[:placed]
			ed.cut(mark)
			refusal = st.inPlace(raw.Stmt, refusal)
		}
		if refusal != nil {
			ed.cut(mark)
			number := len(p.refusals)
			p.refusals = append(p.refusals, refusal)
			ed.add(pieces[i].span, func(o *output) { writeRefusal(o, number, refusal.offset) })
			continue
		}
		st.keepValues(i)
	}
	o := &output{}
	pos := 0
	for i := range pieces {
		s := &pieces[i]
		ed.copy(o, pos, s.start)
		s.from = len(o.segs)
		ed.render(o, s.span)
		s.to, pos = len(o.segs), s.end
	}
	ed.copy(o, pos, len(d.text))
	p.sql, p.segs = o.b.String(), o.segs
	if len(p.given) > 0 {
		p.stmts = pieces
		p.decode()
	}
	return p
}

// freePrefix returns a prefix for names of our own that occurs nowhere in text.
func freePrefix(text string) string {
	prefix := "mbus4_"
	for i := 1; strings.Contains(text, prefix); i++ {
		prefix = fmt.Sprintf("mbus4x%d_", i)
	}
	return prefix
}
