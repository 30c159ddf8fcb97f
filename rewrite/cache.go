package rewrite

import (
	"container/list"
	"strings"
	"sync"

	"mbusproxy/rewrite/detect"
	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/plan"
)

const (
	cacheEntries = 2048
	// cacheBytes bounds what all entries hold, in bytes as size counts them.
	cacheBytes = 32 << 20
	// cacheTextLimit is the length of the longest skeleton that is kept, in bytes. It is also that
	// of the longest text: of a plan for a longer text, the plan for the text with empty strings is
	// kept.
	cacheTextLimit = lex.MaxSkeleton
	// cacheEntryLimit is the size of the largest entry, in bytes. It keeps out plans that are much
	// longer than their text.
	cacheEntryLimit = 1 << 20
)

// cacheKey is the skeleton of texts and what of the session their plan depends on.
type cacheKey struct {
	skeleton, encoding string
	escapes            bool
	void               string
	answer             string
	trace              int // Session.TraceWidth
}

// cached is what is known of a skeleton. It is immutable.
type cached struct {
	calls  bool // whether the texts hold calls; if not, they are forwarded
	schema bool // whether texts without calls use tables or functions of the schema, which must exist then
	body   bool // whether texts without calls have a plan of plan.ForwardBody
	// variants are the plans of texts with calls, the last one made in front.
	variants []variant
	// candidates are in an entry of their own, whose key has the answer "?".
	candidates []detect.Candidate
}

// maxVariants bounds the plans of one skeleton: databases with and without ordered messages differ, and so do literals
// to which plans are pinned.
const maxVariants = 4

// variant is a plan for texts with one skeleton.
type variant struct {
	env      plan.Env // for which the plan was made
	plan     *plan.Plan
	literals []lex.Literal // of the plan's text
	common   *plan.Common
	// preparable is nil where such texts are not run by prepared statements.
	preparable *plan.Preparable
}

// with returns c with one more variant.
func (c *cached) with(v variant) *cached {
	out := &cached{calls: true, variants: []variant{v}}
	if c != nil && c.calls {
		out.variants = append(out.variants, c.variants[:min(len(c.variants), maxVariants-1)]...)
	}
	return out
}

// planFor returns the plan of a text, whose literals and trace context are given, or nil.
func (c *cached) planFor(text string, literals []lex.Literal, env plan.Env, trace string) *plan.Plan {
	for i := range c.variants {
		v := &c.variants[i]
		if v.env != env || !v.plan.Fits(text, v.literals, literals) {
			continue
		}
		p := v.plan
		if p.ClientText() != text {
			p = p.Transfer(text, v.literals, literals)
		}
		return p.Checked().ForText(v.common, v.preparable, literals, trace)
	}
	return nil
}

// literalBytes is about what a literal takes, in bytes.
const literalBytes = 24

// size returns about how many bytes an entry takes.
func (c *cached) size(key cacheKey) int {
	n := len(key.skeleton) + len(key.void) + len(key.answer) + 256
	for _, v := range c.variants {
		size := v.plan.Size() + v.common.Size() + literalBytes*len(v.literals)
		if v.preparable != nil {
			size *= 2
		}
		n += size
	}
	for _, k := range c.candidates {
		n += len(k.Name) + 64
	}
	return n
}

// cache keeps what is known of the skeletons that were used last. The number of its entries is
// bounded, and so are their bytes.
type cache struct {
	limit    int
	maxBytes int

	mu      sync.Mutex
	bytes   int                        // of all entries
	entries map[cacheKey]*list.Element // of *cacheEntry
	recent  *list.List                 // the last used in front
}

type cacheEntry struct {
	key   cacheKey
	known *cached
	size  int // as when it was put
}

func newCache(limit int) *cache {
	return &cache{limit: limit, maxBytes: cacheBytes, entries: make(map[cacheKey]*list.Element), recent: list.New()}
}

// get returns nil for a text of which nothing is known.
func (c *cache) get(key cacheKey) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return nil
	}
	c.recent.MoveToFront(e)
	return e.Value.(*cacheEntry).known
}

// put keeps what is known of a text, unless it is too long.
func (c *cache) put(key cacheKey, known *cached) {
	if len(key.skeleton) > cacheTextLimit {
		return
	}
	if len(known.variants) > 0 && len(known.variants[0].plan.ClientText()) > cacheTextLimit { // the others have been shortened
		short := *known
		short.variants = append([]variant{known.variants[0].shortened()}, known.variants[1:]...)
		known = &short
	}
	size := known.size(key)
	if size > cacheEntryLimit && len(known.variants) > 1 {
		known = (*cached)(nil).with(known.variants[0])
		size = known.size(key)
	}
	if size > cacheEntryLimit {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		c.remove(e)
	}
	c.entries[key] = c.recent.PushFront(&cacheEntry{key, known, size})
	c.bytes += size
	for c.recent.Len() > c.limit || c.bytes > c.maxBytes {
		c.remove(c.recent.Back())
	}
}

// remove drops an entry. mu is held.
func (c *cache) remove(e *list.Element) {
	entry := c.recent.Remove(e).(*cacheEntry)
	delete(c.entries, entry.key)
	c.bytes -= entry.size
}

// shortened returns the variant for the text with empty strings, whose plan can be transferred to the others as well.
func (v variant) shortened() variant {
	var b strings.Builder
	literals := make([]lex.Literal, len(v.literals))
	text, pos := v.plan.ClientText(), 0
	for i, l := range v.literals {
		b.WriteString(text[pos:l.Start])
		start := b.Len()
		if l.Number {
			b.WriteString(text[l.Start:l.End])
		}
		literals[i] = lex.Literal{Span: lex.Span{Start: start, End: b.Len()}, Number: l.Number, Big: l.Big}
		pos = l.End
	}
	b.WriteString(text[pos:])
	short := variant{env: v.env, plan: v.plan.Transfer(b.String(), v.literals, literals).Made(), literals: literals}
	short.common = plan.NewCommon(short.plan, literals)
	if v.preparable != nil {
		short.preparable = plan.NewPreparable(short.plan, literals)
	}
	return short
}
