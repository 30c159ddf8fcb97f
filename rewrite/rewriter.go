package rewrite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"mbusproxy/rewrite/detect"
	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/parse"
	"mbusproxy/rewrite/place"
	"mbusproxy/rewrite/plan"
)

// SQLSTATEs of texts that are not parsed.
const (
	codeAdminShutdown         = "57P01"
	codeInsufficientResources = "53000"
)

// parserRefusal is what a client is told of a text that may hold a call and is not parsed.
func parserRefusal(err error) *plan.Refusal {
	var limit *parse.LimitError
	switch {
	case errors.As(err, &limit):
		return &plan.Refusal{Code: limit.Code, Message: limit.Message, Hint: limit.Hint}
	case errors.Is(err, parse.ErrEnded):
		return &plan.Refusal{Code: codeAdminShutdown, Message: "the session is ending", Detail: err.Error()}
	}
	return &plan.Refusal{Code: codeInsufficientResources, Message: "the statement cannot be parsed now", Detail: err.Error(), Hint: "Try again."}
}

// Rewriter rewrites statements. It is safe for concurrent use.
type Rewriter struct {
	fragments   place.Fragments
	unqualified *detect.Unqualified
	cache       *cache
	parser      *parse.Parser
	counts      counts
}

// counts are those of Counts.
type counts struct{ hits, misses atomic.Uint64 }

// Counts is what a Rewriter has done. Texts that mention nothing of the schema are in none of these.
type Counts struct {
	Hits, Misses uint64 // texts that were known, and that had to be read
	Parser       parse.Counts
}

// Counts tells what the Rewriter has done.
func (r *Rewriter) Counts() Counts {
	return Counts{Hits: r.counts.hits.Load(), Misses: r.counts.misses.Load(), Parser: r.parser.Counts()}
}

// New returns a Rewriter that serves calls with the SQL of fragments. unqualified are the names of
// functions that are served without the schema, too; nil for none. All that is parsed of what
// clients send shares one parser and its line.
func New(fragments place.Fragments, unqualified *detect.Unqualified, parser *parse.Parser) *Rewriter {
	return &Rewriter{fragments: fragments, unqualified: unqualified, cache: newCache(cacheEntries), parser: parser}
}

// Mentions is the cheap test for a text that may hold calls: it names the schema, or may have Candidates.
func (r *Rewriter) Mentions(text []byte) bool {
	return detect.Mentions(text) || r.unqualified.Mentions(text)
}

// key returns what the cache knows a text by.
func (r *Rewriter) key(skel string, session plan.Session) cacheKey {
	k := cacheKey{skel, session.Encoding, session.EscapeStrings, "", session.Answer, session.TraceWidth()}
	if len(session.Void) > 0 {
		k.void = fmt.Sprint(session.Void)
	}
	if k.answer != "" && session.Prepared {
		k.answer += "p"
	}
	return k
}

// Rewrite returns the plan for a text, which may hold several statements. It returns nil for a text
// that is to be forwarded as it is: it holds no call, or it does not parse, and then the server's
// error is the right one. For one that creates a function it returns a plan that forwards it.
//
// env is called only for a text that holds a call, or names a table or another function of the
// schema, which it may create. A text that is too much for the parser is refused, and so is one for
// whose turn at the parser ctx does not last. ctx says for whom it is (parse.For).
func (r *Rewriter) Rewrite(ctx context.Context, text string, session plan.Session, env func() (plan.Env, *plan.Refusal)) *plan.Plan {
	enc := lex.EncodingOf(session.Encoding)
	if len(text) > cacheTextLimit { // before memory is taken for it
		if p, worth := r.weigh(ctx, text, session); !worth {
			return p
		}
	}
	skel, literals := lex.Skeleton(text, enc, session.EscapeStrings)
	key := r.key(skel, session)
	known := r.cache.get(key)
	var doc *place.Document
	defer func() { doc.Release() }()
	if known == nil {
		var err error
		if doc, err = r.read(ctx, text, session); err != nil {
			return plan.Refuse(*parserRefusal(err))
		}
		if !doc.HasCalls() {
			known = &cached{schema: doc.UsesSchema(), body: plan.ForwardBody(text, session) != nil}
			r.cache.put(key, known)
		} else if read := r.cache.get(key); read != nil && read.calls {
			known = read // many have come with such a text at once: they share the first one's plan
		}
	}
	if known != nil && !known.calls {
		r.counted(doc == nil)
		doc.Release() // env may take its time
		if known.schema {
			_, _ = env() // where that fails the server says what is missing
		}
		if known.body {
			return plan.ForwardBody(text, session)
		}
		return nil
	}
	if doc.Release(); doc.IsLong() {
		doc = nil // it must not be kept without a turn, and env may take its time
	}
	e, refused := env()
	if refused != nil {
		return plan.Refuse(*refused)
	}
	if known != nil {
		if p := known.planFor(text, literals, e, session.Trace); p != nil {
			r.counted(doc == nil)
			return p
		}
	}
	r.counted(false)
	if doc == nil {
		var err error
		if doc, err = r.read(ctx, text, session); err != nil {
			return plan.Refuse(*parserRefusal(err))
		}
		if !doc.HasCalls() {
			return nil
		}
	} else if err := doc.Resume(ctx); err != nil {
		return plan.Refuse(*parserRefusal(err))
	}
	p := doc.Rewrite(ctx, e, r.fragments)
	v := variant{env: e, plan: p, literals: literals}
	if len(text) <= cacheTextLimit { // else it may take its time, and put shortens the text
		v.common = plan.NewCommon(p, literals)
	}
	if session.Answer == "" {
		v.preparable = plan.NewPreparable(p, literals)
	}
	r.cache.put(key, known.with(v))
	return p.Checked().ForText(v.common, v.preparable, literals, session.Trace)
}

// Recall returns what Rewrite would for a text, where that is in the cache and nothing has to be
// known before the plan's text runs; else nil. It waits for nothing.
func (r *Rewriter) Recall(text string, session plan.Session, env plan.Env) *plan.Plan {
	if len(text) > cacheTextLimit {
		return nil
	}
	skel, literals := lex.Skeleton(text, lex.EncodingOf(session.Encoding), session.EscapeStrings)
	known := r.cache.get(r.key(skel, session))
	if known == nil {
		return nil
	}
	if p := known.planFor(text, literals, env, session.Trace); p != nil && !p.Given() {
		r.counted(true)
		return p
	}
	return nil
}

func (r *Rewriter) counted(hit bool) {
	if hit {
		r.counts.hits.Add(1)
		return
	}
	r.counts.misses.Add(1)
}

// weigh reads the tokens of a long text and reports whether it is worth parsing. If not, it returns
// the plan that refuses it, or nil if it is to be forwarded.
func (r *Rewriter) weigh(ctx context.Context, text string, session plan.Session) (p *plan.Plan, worth bool) {
	turn, err := r.parser.Weigh(ctx, len(text))
	if err != nil {
		return plan.Refuse(*parserRefusal(err)), false
	}
	defer turn.Release()
	lexed := lex.EncodingOf(session.Encoding).Parseable(text)
	h := detect.Holds(lexed, session.EscapeStrings, r.unqualified)
	if h == (detect.Holding{}) {
		return plan.ForwardBody(text, session), false
	}
	_, err = parse.Check(lexed, session.EscapeStrings, h.Calls)
	if err != nil && h.Calls > 0 {
		return plan.Refuse(*parserRefusal(err)), false
	}
	return nil, err == nil
}

// read finds the calls of ours in a text. Errors are those of the parser's bounds and line.
func (r *Rewriter) read(ctx context.Context, text string, session plan.Session) (*place.Document, error) {
	d, err := place.Read(ctx, r.parser, text, session, r.unqualified)
	d.Settle(session.Answer)
	return d, err
}
