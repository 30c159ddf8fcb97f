package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"mbusproxy/proxy"
)

// newTestPage makes a page that has no proxy.
func newTestPage(t *testing.T, cfg Config) http.Handler {
	t.Helper()
	cfg.Log, cfg.Cookie = zap.NewNop(), "test"
	cfg.Proxy = func() proxy.Stats { return proxy.Stats{} }
	cfg.Calls = func(func(string, uint64, uint64)) {}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p.Handler()
}

// Passwords are taken by TLS, or from this machine, or where somebody has said so.
func TestPlain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg    Config
		url    string
		status int
		to     string
	}{
		"loopback":                  {Config{Loopback: true}, "http://localhost:1/page/login", 200, ""},
		"loopback, another name":    {Config{Loopback: true}, "http://evil.example/page/login", 421, ""},
		"elsewhere":                 {Config{}, "http://host.example/page/login", 403, ""},
		"elsewhere, from localhost": {Config{}, "http://localhost/page/login", 403, ""},
		"elsewhere, with TLS too":   {Config{HasTLS: true}, "http://host.example:9187/page/login?next=x", 307, "https://host.example:9187/page/login?next=x"},
		"by TLS":                    {Config{HasTLS: true}, "https://host.example/page/login", 200, ""},
		"told so":                   {Config{Plain: true}, "http://host.example/page/login", 200, ""},
		"its files":                 {Config{}, "http://host.example" + assetPath("style.css"), 403, ""},
	} {
		w := httptest.NewRecorder()
		newTestPage(t, c.cfg).ServeHTTP(w, httptest.NewRequest(http.MethodGet, c.url, http.NoBody))
		if w.Code != c.status || w.Header().Get("Location") != c.to {
			t.Errorf("%s: %d, to %q", name, w.Code, w.Header().Get("Location"))
		}
		for _, cookie := range w.Result().Cookies() {
			if secure := strings.HasPrefix(c.url, "https"); cookie.Secure != secure || strings.HasPrefix(cookie.Name, "__Secure-") != secure {
				t.Errorf("%s: the cookie %s", name, cookie)
			}
		}
	}
}

// Each page has a title, and what is not there is not found.
func TestRoutes(t *testing.T) {
	t.Parallel()
	h := newTestPage(t, Config{Loopback: true})
	for path, status := range map[string]int{"": 303, "queue": 303, "messages": 303, "login": 200, "nothing": 404, "live?at=/page/": 403, "static/x": 404, "login/": 404} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "http://localhost/page/"+path, http.NoBody)
		h.ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("%s: %d", path, w.Code)
		}
		if status == 200 && !strings.Contains(w.Body.String(), "<title>Log in · mbusproxy</title>") {
			t.Errorf("%s has no title", path)
		}
	}
	big := httptest.NewRequest(http.MethodPost, "http://localhost/page/login", strings.NewReader("user="+strings.Repeat("x", mostBody)))
	big.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, big)
	if w.Code != http.StatusBadRequest {
		t.Errorf("a long form: %d", w.Code)
	}
}

// TestGoneMeanwhile: what ends between two statements of a page was not found; it is no failure of the proxy's.
func TestGoneMeanwhile(t *testing.T) {
	if said := (&Page{}).explain(fmt.Errorf("asking for the queue: %w", pgx.ErrNoRows)); said.status != http.StatusNotFound {
		t.Errorf("%d %s", said.status, said.Title)
	}
}
