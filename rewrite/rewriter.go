package rewrite

import (
	stdcontext "context"
	"errors"
	"fmt"
	"runtime"

	"mbusproxy/rewrite/detect"
	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/parse"
	"mbusproxy/rewrite/place"
	"mbusproxy/rewrite/plan"
)

// parserRefusal is what a client is told where its text is not parsed, though it may hold a call.
func parserRefusal(err error) *plan.Refusal {
	var limit *parse.LimitError
	switch {
	case errors.As(err, &limit):
		return &plan.Refusal{Code: limit.Code, Message: limit.Message, Hint: limit.Hint}
	case errors.Is(err, parse.ErrEnded):
		return &plan.Refusal{Code: plan.CodeAdminShutdown, Message: "the session is ending", Detail: err.Error()}
	}
	return &plan.Refusal{Code: plan.CodeInsufficientResources, Message: "the statement cannot be parsed now", Detail: err.Error(), Hint: "Try again."}
}

// Rewriter rewrites statements. It is safe for concurrent use.
type Rewriter struct {
	fragments   place.Fragments
	unqualified *detect.Unqualified
	cache       *cache
	parser      *parse.Parser
	// longTurns has room for those who read a long text: one processor fewer than there are, for others.
	longTurns chan struct{}
}

// New returns a Rewriter that serves calls with the SQL of fragments.
func New(fragments place.Fragments) *Rewriter { return NewServing(fragments, nil, parse.New()) }

// NewServing returns a Rewriter that also serves calls without the schema, by the names given. parser is for all that
// is parsed of what clients send: they share its budget.
func NewServing(fragments place.Fragments, unqualified *detect.Unqualified, parser *parse.Parser) *Rewriter {
	return &Rewriter{
		fragments: fragments, unqualified: unqualified, cache: newCache(cacheEntries), parser: parser,
		longTurns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
	}
}

// Mentions is the function Mentions, and true also for texts that may have Candidates.
func (r *Rewriter) Mentions(text []byte) bool {
	return detect.Mentions(text) || r.unqualified.Mentions(text)
}

// key is what is known of texts by.
func (r *Rewriter) key(skel string, session plan.Session) cacheKey {
	k := cacheKey{skel, session.Encoding, session.EscapeStrings, fmt.Sprint(session.Void), session.Answer}
	if k.answer != "" && session.Prepared {
		k.answer += "p"
	}
	return k
}

// Rewrite is RewriteContext for callers that nothing can interrupt.
func (r *Rewriter) Rewrite(text string, session plan.Session, env func() (plan.Env, *plan.Refusal)) *plan.Plan {
	return r.RewriteContext(stdcontext.Background(), text, session, env)
}

// RewriteContext returns the plan for text, which may hold several statements, or nil when it is to be
// forwarded as it is: it holds no call, or it does not parse, and then the server's error is the
// right one. env is asked only when there is a call, or a table of the schema, which may be the first that a
// database hears of us. A text that is too much for the parser is refused, and so is one for whose turn
// the context does not last.
func (r *Rewriter) RewriteContext(ctx stdcontext.Context, text string, session plan.Session, env func() (plan.Env, *plan.Refusal)) *plan.Plan {
	enc := lex.EncodingOf(session.Encoding)
	if len(text) > cacheTextLimit { // no memory is taken for it before it is known to be worth it
		if p, worth := r.weigh(ctx, text, session); !worth {
			return p
		}
	}
	skel, literals := lex.Skeleton(text, enc, session.EscapeStrings)
	key := r.key(skel, session)
	known := r.cache.get(key)
	if known != nil && known.calls && !known.plan.Fits(text, known.literals, literals) {
		known = nil
	}
	var doc *place.Document
	defer func() { doc.Release() }()
	if known == nil {
		var err error
		if doc, err = r.read(ctx, text, session); err != nil {
			return plan.Refuse(*parserRefusal(err))
		}
		if !doc.HasCalls() {
			known = &cached{tables: doc.UsesTables()}
			r.cache.put(key, known)
		}
	}
	if known != nil && !known.calls {
		doc.Release() // env may take its time
		if known.tables {
			_, _ = env() // where that fails the server says what is missing
		}
		return nil
	}
	if doc.Release(); doc.IsLong() {
		doc = nil // not to be kept without a turn
	}
	e, refused := env()
	if refused != nil {
		return plan.Refuse(*refused)
	}
	if known != nil && known.env == e {
		if known.plan.ClientText() == text {
			return known.plan.Checked()
		}
		return known.plan.Transfer(text, known.literals, literals).Checked()
	}
	if doc == nil {
		var err error
		if doc, err = r.read(ctx, text, session); err != nil {
			return plan.Refuse(*parserRefusal(err))
		}
		if !doc.HasCalls() { // hstore has moved since the text was seen last
			return nil
		}
	}
	p := doc.Rewrite(ctx, e, r.fragments)
	r.cache.put(key, &cached{calls: true, env: e, plan: p, literals: literals})
	return p.Checked()
}

// weigh reads a long text, as one of a few at a time, and reports whether it is worth parsing; else it returns the plan
// that refuses it, or nil where it is to be forwarded.
func (r *Rewriter) weigh(ctx stdcontext.Context, text string, session plan.Session) (p *plan.Plan, worth bool) {
	select {
	case r.longTurns <- struct{}{}:
		defer func() { <-r.longTurns }()
	case <-ctx.Done():
		return plan.Refuse(*parserRefusal(parse.ErrEnded)), false
	}
	lexed := lex.EncodingOf(session.Encoding).Parseable(text)
	h := detect.Holds(lexed, session.EscapeStrings, r.unqualified)
	if h == (detect.Holding{}) {
		return nil, false
	}
	_, err := parse.Check(lexed, session.EscapeStrings, h.Calls)
	if err != nil && h.Calls > 0 {
		return plan.Refuse(*parserRefusal(err)), false
	}
	return nil, err == nil
}

// read finds the calls of ours in a text. Errors are those of the parser's bounds and budget.
func (r *Rewriter) read(ctx stdcontext.Context, text string, session plan.Session) (*place.Document, error) {
	d, err := place.Read(ctx, r.parser, text, session, r.unqualified)
	d.Settle(session.Answer)
	return d, err
}
