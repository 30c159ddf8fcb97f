package rewrite

import (
	"fmt"
	"sort"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// Env is what a rewritten text depends on besides the client's text.
type Env struct {
	HstoreSchema string // schema that holds the extension hstore, not quoted
}

// Rewriter rewrites statements. It is safe for concurrent use.
type Rewriter struct {
	fragments Fragments
	cache     *cache
}

// New returns a Rewriter that serves calls with the SQL of fragments.
func New(fragments Fragments) *Rewriter {
	return &Rewriter{fragments: fragments, cache: newCache(cacheEntries)}
}

// Rewrite returns the plan for text, which may hold several statements, or nil when it is to be
// forwarded as it is: it holds no call, or it does not parse, and then the server's error is the
// right one. encoding is the session's client_encoding. env is asked only when there is a call.
func (r *Rewriter) Rewrite(text, encoding string, env func() (Env, *Refusal)) *Plan {
	if !r.cache.mayCall(text, encoding) {
		return nil
	}
	e, refusal := env()
	if refusal != nil {
		if calls(text, encoding) {
			return Refuse(text, encoding, *refusal)
		}
		return nil
	}
	key := cacheKey{text: text, encoding: encoding, env: e}
	if p, ok := r.cache.get(key); ok {
		return p
	}
	p := r.rewrite(text, encoding, e)
	r.cache.put(key, p)
	return p
}

// calls reports whether text holds a call.
func calls(text, encoding string) bool {
	parsed := kindOf(encoding).parseable(text)
	tree, err := pg_query.Parse(parsed)
	if err != nil {
		return false
	}
	src, err := scan(text, parsed)
	return err == nil && len(src.findCalls(tree.ProtoReflect())) > 0
}

func (r *Rewriter) rewrite(text, encoding string, env Env) *Plan {
	enc := kindOf(encoding)
	parsed := enc.parseable(text)
	tree, err := pg_query.Parse(parsed)
	if err != nil {
		return nil
	}
	src, err := scan(text, parsed)
	if err != nil {
		return nil
	}
	p := &Plan{client: text, enc: enc}
	ed := &edits{text: text}
	found := false
	for _, raw := range tree.Stmts {
		st := &statement{
			src:       src,
			ed:        ed,
			plan:      p,
			fragments: r.fragments,
			prefix:    freePrefix(text),
			env:       env,
		}
		st.calls = src.findCalls(raw.ProtoReflect())
		if len(st.calls) == 0 {
			continue
		}
		found = true
		sort.Slice(st.calls, func(i, j int) bool { return st.calls[i].start < st.calls[j].start })
		first := src.from(int(raw.StmtLocation))
		end := len(src.toks)
		if raw.StmtLen > 0 {
			end = src.from(int(raw.StmtLocation + raw.StmtLen))
		}
		mark := len(ed.list)
		if refusal := st.place(raw.Stmt, region{first, end}); refusal != nil {
			ed.list = ed.list[:mark]
			number := len(p.refusals)
			p.refusals = append(p.refusals, refusal)
			ed.add(src.tokens(first, end), func(o *output) { writeRefusal(o, number, refusal.offset) })
		}
	}
	if !found {
		return nil
	}
	o := &output{}
	ed.render(o, span{0, len(text)})
	p.sql, p.segs = o.b.String(), o.segs
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

// quoteIdent quotes an SQL identifier.
func quoteIdent(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// quoteLiteral quotes a string whose backslashes, if any, are meant literally.
func quoteLiteral(s string) string {
	q := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return "E" + strings.ReplaceAll(q, `\`, `\\`)
	}
	return q
}
