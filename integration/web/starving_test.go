package web

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"mbusproxy/integration/internal/harness"
)

// Somebody who has logged in and has what is asked for locked keeps neither others from the page,
// nor who asks whether the proxy lives, nor Prometheus.
func TestOneRoleStarvesNobody(t *testing.T) {
	s := newSite(t, "orders")
	user, admin := newVisitor(t, "127.0.0.1"), newVisitor(t, "127.0.0.1")
	user.mustLogIn(s.user, s.database)
	admin.mustLogIn(s.admin, s.database)
	lock := harness.Connect(t, harness.Direct(), s.database)
	harness.Ask(t, lock, "begin; lock table mbus4.message in access exclusive mode")
	var askers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer func() {
		stop()
		harness.Ask(t, lock, "rollback")
		askers.Wait()
	}()
	const many = 100
	asked, busy := make(chan bool, many), make(chan bool, many)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { asked <- true }})
	for range many {
		askers.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"messages?queue=orders", http.NoBody)
			if err != nil {
				t.Error(err)
				return
			}
			res, err := user.client.Do(req)
			if err != nil {
				return // the test is over
			}
			_ = res.Body.Close()
			busy <- res.StatusCode == http.StatusServiceUnavailable
		})
	}
	for range many {
		<-asked
	}
	anybody := newVisitor(t, "127.0.0.1")
	anybody.base = strings.TrimSuffix(base, "page/")
	for _, path := range []string{"healthz", "metrics", "page/login"} {
		began := time.Now()
		if a := anybody.get(path); a.status != http.StatusOK || time.Since(began) > 8*time.Second {
			t.Errorf("%s: %d after %v", path, a.status, time.Since(began))
		}
	}
	if a := admin.get("sessions"); a.status != http.StatusOK || !strings.Contains(a.text, s.admin) {
		t.Errorf("another role's page: %d", a.status)
	}
	for range many / 2 { // those that are too many are told so, and the others go on waiting
		if !<-busy {
			t.Fatal("an answer other than 503")
		}
	}
}

// One role does not take all streams.
func TestStreamsAreShared(t *testing.T) {
	s := newSite(t)
	open := func(v *visitor) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"live?at=/page/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := v.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		return res.StatusCode
	}
	status := map[int]int{}
	for range 8 { // log-ins that a role may have
		user := newVisitor(t, "127.0.0.1")
		user.mustLogIn(s.user, s.database)
		for range 3 {
			status[open(user)]++
		}
	}
	if status[http.StatusOK] != 8 || status[http.StatusTooManyRequests] != 16 {
		t.Errorf("one role's streams: %v", status)
	}
	admin := newVisitor(t, "127.0.0.1")
	admin.mustLogIn(s.admin, s.database)
	if got := open(admin); got != http.StatusOK {
		t.Errorf("another role's: %d", got)
	}
}
