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

// cacheKey is a text without the contents of its literals, and what its reading depends on.
type cacheKey struct {
	skeleton, encoding string
	escapes            bool
	void               string
	answer             string
}

// cached is what is known of a skeleton. It is immutable.
type cached struct {
	calls    bool // false: texts hold no call and are forwarded
	env      Env  // for which plan was made
	plan     *Plan
	literals []literal // of the plan's text
	// candidates are kept apart from the rest, under an answer of their own.
	candidates []Candidate
}

// cache keeps what is known of the skeletons used last. It is bounded by the number of entries and,
// with cacheTextLimit, by bytes.
type cache struct {
	limit int

	mu      sync.Mutex
	entries map[cacheKey]*list.Element // of *cacheEntry
	recent  *list.List                 // the last used in front
}

type cacheEntry struct {
	key   cacheKey
	known *cached
}

func newCache(limit int) *cache {
	return &cache{limit: limit, entries: make(map[cacheKey]*list.Element), recent: list.New()}
}

// get returns nil for a text nothing is known of.
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

func (c *cache) put(key cacheKey, known *cached) {
	if len(key.skeleton) > cacheTextLimit {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		e.Value.(*cacheEntry).known = known
		return
	}
	c.entries[key] = c.recent.PushFront(&cacheEntry{key, known})
	if c.recent.Len() > c.limit {
		last := c.recent.Back()
		c.recent.Remove(last)
		delete(c.entries, last.Value.(*cacheEntry).key)
	}
}
