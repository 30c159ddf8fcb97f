package web

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"go.uber.org/zap"
)

// policy is the Content-Security-Policy: nothing but our own files, no script and no style within a
// page, nowhere else to send a form, in nobody's frame.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// mostBody bounds what a browser sends.
const mostBody = 64 << 10

// guard is around everything: what does not come by TLS or from this machine, in a name that is not
// ours, or from another site is not served.
func (p *Page) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, mostBody)
		defer p.rescue(w)
		switch {
		case r.TLS == nil && !p.cfg.Loopback && !p.cfg.Plain:
			p.insecure(w, r)
		case r.TLS == nil && p.cfg.Loopback && !isLocalName(r.Host):
			http.Error(w, "The page of mbusproxy is served to this machine, as localhost, 127.0.0.1 or [::1].", http.StatusMisdirectedRequest)
		case origins.Check(r) != nil || r.Method != http.MethodGet && r.Header.Get("Origin") == "null":
			p.fail(w, r, nil, &problem{http.StatusForbidden, "Request from another site", "Changes are accepted only from this page itself, not from other sites.", ""})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// rescue keeps a panic from ending more than its request; net/http's own, which ends a connection, goes on.
func (p *Page) rescue(w http.ResponseWriter) {
	v := recover()
	if v == nil {
		return
	}
	if err, is := v.(error); is && errors.Is(err, http.ErrAbortHandler) {
		panic(v)
	}
	p.cfg.Log.Error("page: a request ended by a panic", zap.Any("panic", v), zap.Stack("stack"))
	http.Error(w, "This page has failed; the proxy's log says why.", http.StatusInternalServerError)
}

// insecure is the answer to who comes without TLS from elsewhere.
func (p *Page) insecure(w http.ResponseWriter, r *http.Request) {
	if p.cfg.HasTLS && r.Method == http.MethodGet {
		http.Redirect(w, r, "https://"+r.Host+r.URL.RequestURI(), http.StatusTemporaryRedirect)
		return
	}
	http.Error(w, "The page of mbusproxy takes passwords, so it is served with TLS only (--tls-cert), or on a loopback address. "+
		"Behind a proxy that adds TLS, --http-plain serves it as it is.", http.StatusForbidden)
}

// isLocalName reports whether a Host header names this machine: any other name that leads here is somebody else's.
func isLocalName(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && a.IsLoopback()
}

// remote is the address that a request comes from.
func remote(r *http.Request) netip.Addr {
	a, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return a.Addr()
}
