package rewrite

import (
	"context"
	"fmt"
	"strings"

	"mbusproxy/rewrite/detect"
	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/place"
	"mbusproxy/rewrite/plan"
	"mbusproxy/sqlfuncs"
)

// Candidates returns the calls of a text without the schema that may be ours, each kind once. A
// text that cannot be parsed has none, nor has one for whose turn at the parser ctx does not last;
// Rewrite says what is wrong with it.
func (r *Rewriter) Candidates(ctx context.Context, text string, session plan.Session) []detect.Candidate {
	if !r.unqualified.Mentions([]byte(text)) {
		return nil
	}
	enc := lex.EncodingOf(session.Encoding)
	if len(text) > cacheTextLimit {
		if _, worth := r.weigh(ctx, text, session); !worth {
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

// HintUnqualified adds a hint to an error about a function that the server did not find, where the
// name is one of those that are served without the schema. It reports whether it did.
func (r *Rewriter) HintUnqualified(rep *plan.Report) bool {
	name, missing := plan.MissingFunction(rep)
	if _, ours := r.unqualified.Lookup(name); !missing || !ours {
		return false
	}
	ours := fmt.Sprintf("If %[1]s.%[2]s is meant, write %[1]s.%[2]s(…); without the schema it is served where %[1]s is in the search_path and no other function of the name, or type, that may take as many arguments.",
		sqlfuncs.Schema, name)
	rep.Hint = strings.TrimSpace(rep.Hint + " " + ours)
	return true
}
