package rewrite

import (
	"container/list"
	"sync"
)

const (
	cacheEntries = 2048
	// cacheTextLimit keeps one-off statements with big literals out of the cache, in bytes.
	cacheTextLimit = 16 << 10
)

type cacheKey struct {
	text, encoding string
	env            Env
}

type cacheEntry struct {
	key  cacheKey
	plan *Plan // nil: the text is forwarded as it is
}

// cache keeps the plans of the texts used last. It is bounded by entries and, with
// cacheTextLimit, by bytes.
type cache struct {
	mu      sync.Mutex
	limit   int
	entries map[cacheKey]*list.Element
	recent  *list.List // of *cacheEntry, the last used in front
	none    map[textKey]struct{}
}

type textKey struct{ text, encoding string }

func newCache(limit int) *cache {
	return &cache{
		limit:   limit,
		entries: make(map[cacheKey]*list.Element),
		recent:  list.New(),
		none:    make(map[textKey]struct{}),
	}
}

// mayCall is false for texts that are known to hold no call.
func (c *cache) mayCall(text, encoding string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, none := c.none[textKey{text, encoding}]
	return !none
}

func (c *cache) get(key cacheKey) (*Plan, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return nil, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*cacheEntry).plan, true
}

func (c *cache) put(key cacheKey, p *Plan) {
	if len(key.text) > cacheTextLimit {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p == nil {
		if len(c.none) >= c.limit {
			clear(c.none) // cheap to learn again
		}
		c.none[textKey{key.text, key.encoding}] = struct{}{}
		return
	}
	if _, ok := c.entries[key]; ok {
		return // another session was first
	}
	c.entries[key] = c.recent.PushFront(&cacheEntry{key, p})
	if c.recent.Len() > c.limit {
		last := c.recent.Back()
		c.recent.Remove(last)
		delete(c.entries, last.Value.(*cacheEntry).key)
	}
}
