package rewrite

import (
	stdcontext "context"
	"fmt"
	"strings"

	"mbusproxy/rewrite/detect"
	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/parse"
	"mbusproxy/rewrite/place"
	"mbusproxy/rewrite/plan"
	"mbusproxy/sqlfuncs"
)

// Candidates is CandidatesContext for callers that nothing can interrupt.
func (r *Rewriter) Candidates(text string, session plan.Session) []detect.Candidate {
	return r.CandidatesContext(stdcontext.Background(), text, session)
}

// CandidatesContext returns the unqualified calls of a text that may be ours, each kind once. A text that cannot
// be parsed for the time being, or at all, has none; RewriteContext says what is wrong with it.
func (r *Rewriter) CandidatesContext(ctx stdcontext.Context, text string, session plan.Session) []detect.Candidate {
	if !r.unqualified.Mentions([]byte(text)) {
		return nil
	}
	enc := lex.EncodingOf(session.Encoding)
	if len(text) > cacheTextLimit {
		lexed := enc.Parseable(text)
		h := detect.Holds(lexed, session.EscapeStrings, r.unqualified)
		if h.Calls == 0 {
			return nil
		}
		if _, err := parse.Check(lexed, session.EscapeStrings, h.Calls); err != nil {
			return nil
		}
	}
	skel, _ := lex.Skeleton(text, enc, session.EscapeStrings)
	key := r.key(skel, session)
	key.answer = "?"
	if known := r.cache.get(key); known != nil {
		return known.candidates
	}
	known := &cached{}
	doc, err := place.Read(ctx, r.parser, text, session, r.unqualified)
	if err != nil {
		return nil
	}
	defer doc.Release()
	if doc != nil {
		known.candidates = doc.Candidates()
	}
	r.cache.put(key, known)
	return known.candidates
}

// HintUnqualified explains an error about a function that the server did not find, where its name is one that
// is served without the schema under the right circumstances.
func (r *Rewriter) HintUnqualified(rep *plan.Report) bool {
	if rep.Code != plan.CodeUndefinedFunction || rep.File != plan.FileFunctions || r.unqualified == nil {
		return false
	}
	before, _, called := strings.Cut(rep.Message, "(")
	name := before[strings.LastIndexAny(before, " »«“”„\u00a0\"")+1:]
	name = strings.TrimFunc(name, func(c rune) bool { return c > 0x7f || c == '"' })
	if _, ok := r.unqualified.Lookup(name); !called || !ok {
		return false
	}
	ours := fmt.Sprintf("If %[1]s.%[2]s is meant, write %[1]s.%[2]s(…); without the schema it is served where %[1]s is in the search_path and no other function of the name, or type, that may take as many arguments.",
		sqlfuncs.Schema, name)
	rep.Hint = strings.TrimSpace(rep.Hint + " " + ours)
	return true
}
