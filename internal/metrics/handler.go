package metrics

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"mbusproxy/engine"
	"mbusproxy/internal/coalesce"
)

// mostWaiting is how many scrapes may wait for numbers; beyond it they get the last ones at once.
const mostWaiting = 16

// Handler serves the numbers: they are read and written down once for all scrapes that wait, so that
// whoever scrapes much takes neither the numbers from Prometheus nor the processor from clients. For
// the same reason they are not compressed.
func Handler(s Source, log *zap.Logger) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&collector{source: s, log: log, looks: looks[engine.Overview]{now: time.Now}},
	)
	inner := promhttp.HandlerFor(r, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, DisableCompression: true, ErrorLog: zap.NewStdLog(log)})
	scrapes := coalesce.New(mostWaiting, log, func(ctx context.Context) *written {
		out := &written{header: http.Header{}, status: http.StatusOK}
		inner.ServeHTTP(out, (&http.Request{Header: http.Header{}}).WithContext(ctx))
		return out
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := scrapes.Get(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", out.header.Get("Content-Type"))
		w.Header().Set("Content-Length", strconv.Itoa(out.body.Len()))
		w.WriteHeader(out.status)
		_, _ = w.Write(out.body.Bytes())
	})
}

// written is the text of one scrape. It is an http.ResponseWriter, and does not change once it is whole.
type written struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header gives the headers of the answer.
func (o *written) Header() http.Header { return o.header }

// WriteHeader notes the status.
func (o *written) WriteHeader(status int) { o.status = status }

// Write notes a part of the body.
func (o *written) Write(b []byte) (int, error) { return o.body.Write(b) }
