package rewrite

import (
	stdcontext "context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sort"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"mbusproxy/rewrite/parse"
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
	parser      *parse.Parser
	// longTurns has room for those who read a long text: one processor fewer than there are, for others.
	longTurns chan struct{}
}

// New returns a Rewriter that serves calls with the SQL of fragments.
func New(fragments Fragments) *Rewriter { return NewServing(fragments, nil, parse.New()) }

// NewServing returns a Rewriter that also serves calls without the schema, by the names given. parser is for all that
// is parsed of what clients send: they share its budget.
func NewServing(fragments Fragments, unqualified *Unqualified, parser *parse.Parser) *Rewriter {
	return &Rewriter{fragments: fragments, unqualified: unqualified, cache: newCache(cacheEntries), parser: parser,
		longTurns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))}
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

// Rewrite is RewriteContext for callers that nothing can interrupt.
func (r *Rewriter) Rewrite(text string, session Session, env func() (Env, *Refusal)) *Plan {
	return r.RewriteContext(stdcontext.Background(), text, session, env)
}

// RewriteContext returns the plan for text, which may hold several statements, or nil when it is to be
// forwarded as it is: it holds no call, or it does not parse, and then the server's error is the
// right one. env is asked only when there is a call, or a table of the schema, which may be the first that a
// database hears of us. A text that is too much for the parser is refused, and so is one for whose turn
// the context does not last.
func (r *Rewriter) RewriteContext(ctx stdcontext.Context, text string, session Session, env func() (Env, *Refusal)) *Plan {
	enc := kindOf(session.Encoding)
	if len(text) > cacheTextLimit { // no memory is taken for it before it is known to be worth it
		if p, worth := r.weigh(ctx, text, session); !worth {
			return p
		}
	}
	skel, literals := skeleton(text, enc, session.EscapeStrings)
	key := r.key(skel, session)
	known := r.cache.get(key)
	if known != nil && known.calls && !known.plan.fits(text, known.literals, literals) {
		known = nil
	}
	var doc *document
	defer func() { doc.release() }()
	if known == nil {
		var err error
		if doc, err = r.read(ctx, text, session); err != nil {
			return Refuse(text, session.Encoding, *parserRefusal(err))
		}
		if !doc.hasCalls() {
			known = &cached{tables: doc.usesTables()}
			r.cache.put(key, known)
		}
	}
	if known != nil && !known.calls {
		doc.release() // env may take its time
		if known.tables {
			_, _ = env() // where that fails the server says what is missing
		}
		return nil
	}
	if doc.release(); doc.isLong() {
		doc = nil // not to be kept without a turn
	}
	e, refused := env()
	if refused != nil {
		return Refuse(text, session.Encoding, *refused)
	}
	if known != nil && known.env == e {
		if known.plan.client == text {
			return known.plan.checked()
		}
		return known.plan.transfer(text, known.literals, literals).checked()
	}
	if doc == nil {
		var err error
		if doc, err = r.read(ctx, text, session); err != nil {
			return Refuse(text, session.Encoding, *parserRefusal(err))
		}
		if !doc.hasCalls() { // hstore has moved since the text was seen last
			return nil
		}
	}
	p := r.rewrite(ctx, doc, e)
	r.cache.put(key, &cached{calls: true, env: e, plan: p, literals: literals})
	return p.checked()
}

// weigh reads a long text, as one of a few at a time, and reports whether it is worth parsing; else it returns the plan
// that refuses it, or nil where it is to be forwarded.
func (r *Rewriter) weigh(ctx stdcontext.Context, text string, session Session) (p *Plan, worth bool) {
	select {
	case r.longTurns <- struct{}{}:
		defer func() { <-r.longTurns }()
	case <-ctx.Done():
		return Refuse(text, session.Encoding, *parserRefusal(parse.ErrEnded)), false
	}
	lexed := kindOf(session.Encoding).parseable(text)
	h := holds(lexed, session.EscapeStrings, r.unqualified)
	if h == (holding{}) {
		return nil, false
	}
	_, err := parse.Check(lexed, session.EscapeStrings, h.calls)
	if err != nil && h.calls > 0 {
		return Refuse(text, session.Encoding, *parserRefusal(err)), false
	}
	return nil, err == nil
}

// document is a text that parses, with its calls. nil stands for one that does not.
type document struct {
	text    string
	enc     encodingKind
	escapes bool
	tree    *pg_query.ParseResult
	src     *source
	calls   [][]*call // by statement
	lease   *parse.Lease

	skeleton string
	prepared bool
}

// release gives the turn at the parser to others. What isLong must not be used any more.
func (d *document) release() {
	if d != nil {
		d.lease.Release()
	}
}

// isLong reports whether so much memory hangs on the document that it must not wait for anything.
func (d *document) isLong() bool { return d != nil && d.lease.Long() }

// read finds the calls of ours in a text. Errors are those of the parser's bounds and budget.
func (r *Rewriter) read(ctx stdcontext.Context, text string, session Session) (*document, error) {
	d, err := r.readAll(ctx, text, session)
	d.settle(session.Answer)
	return d, err
}

// readAll finds the calls in a text, unqualified ones that may be ours included.
func (r *Rewriter) readAll(ctx stdcontext.Context, text string, session Session) (*document, error) {
	d := &document{text: text, enc: kindOf(session.Encoding), escapes: session.EscapeStrings, prepared: session.Prepared}
	parsed := d.enc.parseable(text)
	holding := holds(parsed, session.EscapeStrings, r.unqualified)
	if holding.calls == 0 && !holding.table {
		return nil, nil
	}
	if session.EscapeStrings {
		parsed = plainStrings(parsed)
	}
	kept := false
	defer func() { // in a panic, too, which ends the session only
		if !kept {
			d.release()
		}
	}()
	var err error
	if d.lease, err = r.parser.Lease(ctx, parsed, holding.calls); err == nil {
		err = d.parse(parsed, session, r.unqualified)
	}
	if err == nil {
		kept = true
		return d, nil
	}
	if errors.As(err, new(*parse.SyntaxError)) || holding.calls == 0 {
		return nil, nil // it is left to the server
	}
	return nil, err
}

// parse makes the tree, the tokens and the calls.
func (d *document) parse(parsed string, session Session, unqualified *Unqualified) (err error) {
	if d.tree, err = d.lease.Parse(parsed); err != nil {
		return err
	}
	d.skeleton, _ = skeleton(d.text, d.enc, d.escapes)
	if d.src, err = scan(d.text, parsed); err != nil {
		return &parse.SyntaxError{Message: err.Error()}
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
	return nil
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
func (r *Rewriter) rewrite(ctx stdcontext.Context, d *document, env Env) *Plan {
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
			parse:     func(text string) (*pg_query.ParseResult, error) { return r.parseWithin(ctx, d, text) },
		}
		st.indexCalls(raw.Stmt)
		mark, placed := len(ed.list), len(p.calls)
		refusal := st.guardCalls(raw.Stmt, d.prepared || len(d.tree.Stmts) > 1)
		if refusal == nil {
			refusal = st.place(raw.Stmt, reg)
		}
		if refusal != nil && refusal.place && st.many && st.checked {
			p.calls = p.calls[:placed]
			ed.cut(mark)
			if again := st.inRows(raw.Stmt, reg); again == nil {
				refusal = nil
			}
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

// parseWithin parses a text that is a part of a document's: in the document's turn while there is one.
func (r *Rewriter) parseWithin(ctx stdcontext.Context, d *document, text string) (*pg_query.ParseResult, error) {
	if d.isLong() {
		return d.lease.Parse(text)
	}
	return r.parser.Parse(ctx, text)
}

// freePrefix returns a prefix for names of our own that occurs nowhere in text.
func freePrefix(text string) string {
	prefix := "mbus4_"
	for i := 1; strings.Contains(text, prefix); i++ {
		prefix = fmt.Sprintf("mbus4x%d_", i)
	}
	return prefix
}
