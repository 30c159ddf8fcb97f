package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"

	"mbusproxy/engine"
	"mbusproxy/internal/coalesce"
	"mbusproxy/internal/httplisten"
	"mbusproxy/internal/metrics"
	"mbusproxy/internal/rewriter"
	"mbusproxy/internal/told"
	"mbusproxy/internal/web"
	"mbusproxy/proxy"
	"mbusproxy/proxy/startup"
)

// Bounds of what those who come over HTTP can make the proxy hold.
const (
	// httpConnections may be there at a time, or an eighth of the descriptors, and at least leastHTTP; see
	// httplisten.Places. Scrapes, questions whether the proxy is ready, and all that the page does at a
	// time take fewer than leastHTTP, so whoever asks whether the proxy lives finds one.
	httpConnections = 512
	leastHTTP       = 128
	httpHeader      = 16 << 10
	httpPatience    = 10 * time.Second // for a request's header, and for the next request
	// requestRate is how many requests are served a second: on all connections that there may be, one has its turn within a second.
	requestRate  = 600
	requestBurst = 100
	httpWriting  = time.Minute
	// readyTimeout is for a look whether the proxy is ready. Whoever waits for two of them has waited for
	// less than defaultHealthTimeout of mbusproxy healthcheck.
	readyTimeout = 3 * time.Second
	readyWaiting = 16 // of those who ask at a time; beyond it the last answer counts
)

// monitor is what --http serves: metrics, whether the proxy lives and can serve, and the page.
type monitor struct {
	cfg    Config
	server *proxy.Server
	engine *engine.Engine
	log    *zap.Logger
}

// listenHTTP binds the address of --http.
func listenHTTP(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &told.Error{Message: fmt.Sprintf("cannot listen for HTTP: %v", err), Hint: "--http names host:port, such as 127.0.0.1:9187, which nobody else uses", Err: err}
	}
	return httplisten.NewPlaces(l, min(httpConnections, max(startup.Descriptors()/8, leastHTTP))), nil
}

// startHTTP serves what --http asks for until stop is called. While the proxy drains it goes on.
func startHTTP(ctx context.Context, m *monitor, r *rewriter.Rewriter) (stop func(), err error) {
	if m.cfg.HTTP == "" {
		return func() {}, nil
	}
	l, err := listenHTTP(m.cfg.HTTP)
	if err != nil {
		return nil, err
	}
	m.log.Info("listening for HTTP", zap.Stringer("address", l.Addr()))
	page, err := newPage(m, r, l)
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	l = httplisten.NewBoth(l, func() *tls.Config { return httplisten.TLS(m.server.TLS()) }, httpPatience)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer page.Close()
		m.serve(ctx, l, r, page)
	}()
	return func() {
		cancel()
		<-done
	}, nil
}

// serve answers on a listener until ctx ends.
func (m *monitor) serve(ctx context.Context, l net.Listener, r *rewriter.Rewriter, page *web.Page) {
	mux := http.NewServeMux()
	mux.Handle(web.Path, page.Handler())
	mux.Handle("GET /metrics", metrics.Handler(metrics.Source{
		Version: m.cfg.Version, Proxy: m.server.Stats, Rewriter: r.Cached, Calls: r.Calls, Refusals: r.Refusals, Databases: m.engine.Databases,
	}, m.log))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, nil) })
	ready := coalesce.New(readyWaiting, m.log, m.ready)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, req *http.Request) {
		if m.server.Ending() {
			answer(w, errors.New("draining"))
			return
		}
		unready, err := ready.Get(req.Context())
		answer(w, cmp.Or(err, unready))
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, "mbusproxy\n\n/metrics  for Prometheus\n/healthz  whether the proxy lives\n/readyz   whether it can serve\n/page/    for people\n")
	})
	s := &http.Server{
		Handler: httplisten.Paced(httplisten.KeepPlaces(plainly(mux)), requestRate, requestBurst), ConnContext: httplisten.WithPlace, MaxHeaderBytes: httpHeader, ReadHeaderTimeout: httpPatience, ReadTimeout: httpPatience, IdleTimeout: httpPatience, WriteTimeout: httpWriting,
		ErrorLog: zap.NewStdLog(m.log),
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		m.log.Error("HTTP is served no more", zap.Error(err))
	}
}

// plainly has browsers take what is sent for what it says it is, and for no part of another site:
// names of databases, which anybody who may create some chooses, are in the metrics.
func plainly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// ready reports why the proxy cannot serve clients, if so: no server gives them a session, or the
// schema cannot be served in the database of --admin.
func (m *monitor) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := m.server.Ready(ctx); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("the upstream server does not answer within %v", readyTimeout)
		}
		return fmt.Errorf("the upstream server takes no clients: %w", err)
	}
	if _, err := m.engine.Database(ctx, databaseOf(m.cfg.Admin)); err != nil {
		return told.Of(err)
	}
	return nil
}

// answer says ok, or why not.
func answer(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintln(w, err)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}
