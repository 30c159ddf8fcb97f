package httplisten

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Turns come at once as long as there is something of the burst, and then one after another; rest fills the burst again.
func TestPace(t *testing.T) {
	t.Parallel()
	p := newPace(10*time.Millisecond, 3)
	now := time.Now()
	for n, want := range []time.Duration{0, 0, 0, 10, 20, 30} {
		if got := p.next(now); max(got, 0) != want*time.Millisecond {
			t.Errorf("turn %d comes after %v, not after %v ms", n, got, want)
		}
	}
	now = now.Add(40 * time.Millisecond)
	for n, want := range []time.Duration{0, 10} {
		if got := p.next(now); max(got, 0) != want*time.Millisecond {
			t.Errorf("turn %d, later, comes after %v, not after %v ms", n, got, want)
		}
	}
	now = now.Add(time.Hour)
	for n, want := range []time.Duration{0, 0, 0, 10} {
		if got := p.next(now); max(got, 0) != want*time.Millisecond {
			t.Errorf("turn %d, after a rest, comes after %v, not after %v ms", n, got, want)
		}
	}
}

// All requests are served, no faster than it says, and who does not wait is not.
func TestPaced(t *testing.T) {
	t.Parallel()
	var served atomic.Int64
	h := Paced(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }), 100, 5)
	began := time.Now()
	var all sync.WaitGroup
	for range 25 {
		all.Go(func() { h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)) })
	}
	all.Wait()
	if took := time.Since(began); served.Load() != 25 || took < 190*time.Millisecond {
		t.Errorf("%d requests were served in %v", served.Load(), took)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	slow := Paced(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }), 1, 0)
	slow.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil).WithContext(gone))
	if served.Load() != 25 {
		t.Error("a request was served whose client is gone")
	}
}

// Whoever hangs up while it waits has no turn, so that nobody waits for it.
func TestPacedHangUps(t *testing.T) {
	t.Parallel()
	served := make(chan string, 2000)
	s := httptest.NewServer(Paced(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { served <- r.URL.Path }), 1, 1))
	defer s.Close()
	for range 1000 { // for which it would take a quarter of an hour
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("GET /gone HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/here", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	for gone := 0; <-served != "/here"; gone++ {
		if gone > 100 {
			t.Fatal("they were served first")
		}
	}
}
