package rewrite

import (
	stdcontext "context"
	"fmt"
	"runtime"

	"mbusproxy/rewrite/parse"
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
			return Refuse(*parserRefusal(err))
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
		return Refuse(*refused)
	}
	if known != nil && known.env == e {
		if known.plan.clientText() == text {
			return known.plan.checked()
		}
		return known.plan.transfer(text, known.literals, literals).checked()
	}
	if doc == nil {
		var err error
		if doc, err = r.read(ctx, text, session); err != nil {
			return Refuse(*parserRefusal(err))
		}
		if !doc.hasCalls() { // hstore has moved since the text was seen last
			return nil
		}
	}
	p := doc.rewrite(ctx, e, r.fragments)
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
		return Refuse(*parserRefusal(parse.ErrEnded)), false
	}
	lexed := kindOf(session.Encoding).parseable(text)
	h := holds(lexed, session.EscapeStrings, r.unqualified)
	if h == (holding{}) {
		return nil, false
	}
	_, err := parse.Check(lexed, session.EscapeStrings, h.calls)
	if err != nil && h.calls > 0 {
		return Refuse(*parserRefusal(err)), false
	}
	return nil, err == nil
}

// read finds the calls of ours in a text. Errors are those of the parser's bounds and budget.
func (r *Rewriter) read(ctx stdcontext.Context, text string, session Session) (*document, error) {
	d, err := readDocument(ctx, r.parser, text, session, r.unqualified)
	d.settle(session.Answer)
	return d, err
}
