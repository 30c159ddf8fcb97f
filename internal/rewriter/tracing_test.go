package rewriter

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mbusproxy/internal/tracing"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
	"mbusproxy/rewrite/parse"

	"go.uber.org/zap"
)

const testTraceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// Off, tracing takes nothing: recalling a plan allocates what it did without.
func TestTracingOff(t *testing.T) {
	_, eng := engineOnCluster(t)
	r := New(eng, nil, parse.New(), false)
	sc := statements.Context{User: "postgres", Database: "postgres", Encoding: "UTF8", Simple: true}
	text := []byte("select mbus4.post('q', 'a=>1')")
	first := r.Rewrite(t.Context(), sc, string(text))
	if traced, ok := first.(statements.Traced); !ok || traced.Traces() {
		t.Error("the plan is traced")
	}
	var plan statements.Plan
	parts := testing.AllocsPerRun(200, func() { // as it was before there was tracing
		db := r.engine.Recall(sc.Database, sc.Began)
		p := r.rewrite.Recall(string(text), session(sc), Environment(db))
		noteOrder(db, p)
		plan = wirePlan{Plan: r.ownPlan(sc, p), db: db, counts: r.counts}
	})
	if plan == nil {
		t.Fatal("not recalled")
	}
	whole := testing.AllocsPerRun(200, func() {
		if _, ok := r.Recall(sc, text); !ok {
			t.Fatal("not recalled")
		}
	})
	if whole > parts {
		t.Errorf("recalling allocates %v times, it was %v times", whole, parts)
	}
}

// Texts that differ in the comment have one entry in the cache, with tracing and without.
func TestTracingCache(t *testing.T) {
	t.Parallel()
	_, eng := engineOnCluster(t)
	for _, on := range []bool{false, true} {
		r := New(eng, nil, parse.New(), false)
		if on {
			tracer, err := tracing.Open(t.Context(), "http://127.0.0.1:9", "test", zap.NewNop())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(tracer.Close)
			r.Tracer = tracer
		}
		sc := statements.Context{User: "postgres", Database: "postgres", Encoding: "UTF8", Simple: true, Secret: "ABCDEFGHIJKLMNOP"}
		id, asked := "", 0
		const texts = 10_000
		for i := range texts {
			text := fmt.Sprintf("select mbus4.post('q', 'a=>1') /*n='%d',traceparent='00-%032x-%016x-01'*/", i, i+1, i+1)
			p, known := r.Recall(sc, []byte(text))
			if !known { // the first is not, nor one now and then for which the database is looked at again
				p = r.Rewrite(t.Context(), sc, text)
				asked++
			}
			prepared := p.(statements.Preparable).Prepared()
			if prepared == nil || id != "" && prepared.ID() != id {
				t.Fatalf("text %d is run by %v, the first by the statement %s", i, prepared, id)
			}
			id = prepared.ID()
		}
		if c := r.rewrite.Counts(); c.Misses != 1 || c.Hits != texts-1 {
			t.Errorf("%+v", c)
		}
		if asked > texts/10 {
			t.Errorf("%d of %d texts were not known", asked, texts)
		}
	}
}

// A post with a context is as lean as one without: it has a column more, and none of what posts with headers have.
func TestTracingLean(t *testing.T) {
	t.Parallel()
	_, eng := engineOnCluster(t)
	r := New(eng, nil, parse.New(), false)
	tracer, err := tracing.Open(t.Context(), "http://127.0.0.1:9", "test", zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tracer.Close)
	sc := statements.Context{User: "postgres", Database: "postgres", Encoding: "UTF8", Simple: true, Secret: "ABCDEFGHIJKLMNOP"}
	size := func(text string) int { return len(r.Rewrite(t.Context(), sc, text).SQL()) }
	const post = "select mbus4.post('q', 'a=>1')"
	comment := " /*traceparent='" + testTraceparent + "'*/"
	lean, full := size(post), size("select mbus4.post('q', 'a=>1', headers => 'a=>1')")
	r.Tracer = tracer
	if untraced := size(post); untraced != lean {
		t.Errorf("a post without a context has %d bytes with tracing, %d without", untraced, lean)
	}
	if with := size(post+comment) - len(comment); with > lean+250 || with > full {
		t.Errorf("a post with a context has %d bytes, one without %d, one with headers %d", with, lean, full)
	}
}

// Of a key that a comment has more than once the last one counts, however it is written.
func TestContextOfTags(t *testing.T) {
	t.Parallel()
	sc := contextOf("traceparent='00-',x='y',TraceParent='" + testTraceparent + "',TRACESTATE='a%3Db'")
	if !sc.IsValid() || !strings.Contains(testTraceparent, sc.TraceID().String()) || sc.TraceState().String() != "a=b" {
		t.Errorf("got %v", sc)
	}
	if sc := contextOf("tracestate='a%3Db'"); sc.IsValid() {
		t.Errorf("got %v of a tracestate alone", sc)
	}
}

// BenchmarkTraced is what a post with a context in its comment costs beside what goes over the
// wire, without tracing and with it.
func BenchmarkTraced(b *testing.B) {
	_, eng := engineOnCluster(b)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	b.Cleanup(collector.Close)
	tracer, err := tracing.Open(b.Context(), collector.URL, "test", zap.NewNop())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(tracer.Close)
	text := []byte("select mbus4.post('q', 'a=>1') /*application='shop',traceparent='" + testTraceparent + "'*/")
	row := []byte("\x00\x01\x00\x00\x00\x1bq.shop.1700000000000000.123")
	for _, simple := range []bool{true, false} {
		for _, on := range []bool{false, true} {
			b.Run(fmt.Sprintf("simple=%v/on=%v", simple, on), func(b *testing.B) {
				r := New(eng, nil, parse.New(), false)
				if on {
					r.Tracer = tracer
				}
				sc := statements.Context{User: "postgres", Database: "postgres", Encoding: "UTF8", Simple: simple, Secret: "ABCDEFGHIJKLMNOP"}
				r.Rewrite(b.Context(), sc, string(text))
				b.ReportAllocs()
				for b.Loop() {
					p, ok := r.Recall(sc, text)
					if !ok {
						b.Fatal("not recalled")
					}
					traced, _ := p.(statements.Traced)
					if !on || !traced.Traces() {
						continue
					}
					var t statements.Trace
					if simple {
						t = traced.Trace()
					} else {
						t = traced.Portals().Trace(wire.Values{}, time.Now())
					}
					t.Row(row)
					t.Completed("SELECT 1")
					t.Ended()
				}
			})
		}
	}
}
