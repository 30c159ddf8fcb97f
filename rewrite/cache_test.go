package rewrite

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"
	"weak"
)

// counted is what the cache says that it holds, checked against what it does hold.
func counted(t *testing.T, c *cache) (entries, bytes int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.recent.Front(); e != nil; e = e.Next() {
		entry := e.Value.(*cacheEntry)
		if c.entries[entry.key] != e {
			t.Fatalf("entry %q is not found by its key", entry.key.skeleton)
		}
		bytes += entry.known.size(entry.key)
		entries++
	}
	if entries != len(c.entries) || bytes != c.bytes {
		t.Fatalf("%d entries of %d bytes in the list, %d of %d by the counters", entries, bytes, len(c.entries), c.bytes)
	}
	return entries, bytes
}

func TestCacheForgetsTheOldest(t *testing.T) {
	t.Parallel()
	c := newCache(3)
	key := func(i int) cacheKey { return cacheKey{skeleton: fmt.Sprint(i)} }
	for i := range 3 {
		c.put(key(i), &cached{})
	}
	c.get(key(0))
	c.put(key(3), &cached{calls: true})
	c.put(key(3), &cached{})
	for i, there := range []bool{true, false, true, true} {
		if (c.get(key(i)) != nil) != there {
			t.Errorf("entry %d is there: %t", i, !there)
		}
	}
	if n, _ := counted(t, c); n != 3 || c.get(key(3)).calls {
		t.Errorf("%d entries", n)
	}
}

// The number of different texts is bounded, and so is what they hold: texts, plans, literals.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	r := newRewriter(shortFragments{})
	for i := range cacheEntries + 200 {
		r.Rewrite(t.Context(), fmt.Sprintf("select mbus4.peek_q%d()", i), utf8Session, testEnv)
		r.Rewrite(t.Context(), fmt.Sprintf("select 'mbus4' as a%d", i), utf8Session, testEnv)
	}
	if n, _ := counted(t, r.cache); n != cacheEntries {
		t.Errorf("%d entries", n)
	}
	// Long texts: many calls.
	r = newRewriter(shortFragments{})
	r.cache.maxBytes = 1 << 20
	calls := strings.Repeat("mbus4.post('q', 'a=>1', iid => 'x'), ", 50)
	for i := range 60 {
		r.Rewrite(t.Context(), fmt.Sprintf("select %s 1 as a%d", calls, i), utf8Session, testEnv)
	}
	if n, bytes := counted(t, r.cache); bytes > r.cache.maxBytes || n == 60 || n < 5 {
		t.Errorf("%d entries of %d bytes", n, bytes)
	}
	// Plans much longer than their texts, and skeletons too long to be kept.
	r = newRewriter(shortFragments{})
	r.Rewrite(t.Context(), "select "+strings.Repeat("mbus4.post('q', 'a=>1'), ", 600)+"1", utf8Session, testEnv)
	r.Rewrite(t.Context(), "select mbus4.post('q', 'a=>1'), "+strings.Repeat("x, ", cacheTextLimit/3)+"1", utf8Session, testEnv)
	r.Rewrite(t.Context(), "select mbus4, "+strings.Repeat("x, ", cacheTextLimit/3)+"1", utf8Session, testEnv)
	if _, bytes := counted(t, r.cache); bytes > cacheEntryLimit {
		t.Errorf("%d bytes", bytes)
	}
}

// A text with big strings is known by its skeleton, but its strings are not kept.
func TestCacheKeepsNoBigStrings(t *testing.T) {
	t.Parallel()
	r := newRewriter(shortFragments{})
	big := func(n int, c string) string {
		return fmt.Sprintf("select mbus4.post('q', 'a=>%s', iid => '%s'), mbus4.create_consumer('q', 'c', '%d'), ' %s', m.iid from mbus4.consume('q') m limit 7",
			strings.Repeat(c, n), c, n, strings.Repeat(c, n))
	}
	kept := func() weak.Pointer[byte] {
		text := big(1<<20, "x")
		r.Rewrite(t.Context(), text, utf8Session, testEnv)
		return weak.Make(unsafe.StringData(text))
	}()
	if n, bytes := counted(t, r.cache); n != 1 || bytes > cacheTextLimit {
		t.Fatalf("%d entries of %d bytes", n, bytes)
	}
	if runtime.GC(); kept.Value() != nil {
		t.Error("the text is kept")
	}
	for _, sql := range []string{big(1, "y"), big(100_000, "é"), big(1<<20, "x"), strings.Replace(big(3, "z"), "limit 7", "limit 0", 1)} {
		got, want := r.Rewrite(t.Context(), sql, utf8Session, testEnv), newRewriter(shortFragments{}).Rewrite(t.Context(), sql, utf8Session, testEnv)
		if got.SQL() != want.SQL() || fmt.Sprint(got.Selectors()) != fmt.Sprint(want.Selectors()) {
			t.Errorf("%.80s…: a plan from the cache differs from a new one", sql)
		}
		checkSegments(t, sql, got)
	}
	r.Rewrite(t.Context(), big(1<<20, "x"), utf8Session, testEnv)
	if n, bytes := counted(t, r.cache); n != 1 || bytes > cacheTextLimit {
		t.Errorf("%d entries of %d bytes", n, bytes)
	}
}
