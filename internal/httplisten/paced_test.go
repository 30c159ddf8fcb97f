package httplisten

import (
	"context"
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
	p := pace{every: 10 * time.Millisecond, ahead: 30 * time.Millisecond}
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
