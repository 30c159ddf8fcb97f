package metrics

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"

	"mbusproxy/engine"
	"mbusproxy/proxy"
	"mbusproxy/rewrite"
)

// However many scrape while numbers are read, each gets them, and they are read a few times for all.
func TestFloodOfScrapes(t *testing.T) {
	t.Parallel()
	const many = 10 * mostWaiting
	var reads atomic.Int64
	begun, goOn := make(chan bool, many), make(chan bool)
	h := Handler(Source{
		Version: "x",
		Proxy: func() proxy.Stats {
			reads.Add(1)
			begun <- true
			<-goOn
			return proxy.Stats{}
		},
		Rewriter:  func() rewrite.Counts { return rewrite.Counts{} },
		Calls:     func(func(string, uint64, uint64)) {},
		Refusals:  func() map[string]uint64 { return nil },
		Databases: func() []*engine.Database { return nil },
	}, zap.NewNop())
	var scraping sync.WaitGroup
	scrape := func() {
		scraping.Go(func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
			if text := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(text, `mbusproxy_build_info{version="x"} 1`) {
				t.Errorf("%d: %.200s", w.Code, text)
			}
		})
	}
	scrape()
	<-begun
	goOn <- true
	scraping.Wait() // there are numbers
	scrape()
	<-begun
	for range many {
		scrape()
	}
	close(goOn)
	scraping.Wait()
	if n := reads.Load(); n > many/4 {
		t.Errorf("numbers were read %d times for %d scrapes", n, many)
	}
}
