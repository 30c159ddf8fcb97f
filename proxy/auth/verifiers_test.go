package auth

import (
	"fmt"
	"testing"
	"time"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/scram"
)

// TestSCRAMThroughProxy joins both sides as a login does.
func TestSCRAMThroughProxy(t *testing.T) {
	stored, clientKey := proxytest.StoredVerifier(t, "pencil")
	endPoint := []byte("a hash")
	source := proxytest.StaticVerifiers{"user": stored}
	cache := NewCache(source)
	client := scram.NewClient(endPoint)
	end, f := scram.NewServer([]byte(client.Header+client.First), endPoint)
	if f != nil {
		t.Fatal(f)
	}
	if err := client.Challenged([]byte(end.Challenge("W22ZaJ0SNY7soEsUEjb6gQ==", 4096))); err != nil {
		t.Fatal(err)
	}
	v, _ := scram.ParseVerifier(stored)
	if f := end.Answered([]byte(client.Prove(&clientKey, &v.StoredKey))); f != nil {
		t.Fatal(f)
	}
	for range 2 { // looked up, then cached
		v, key, err := cache.proven(t.Context(), "user", end)
		if err != nil || v.Nobody || key != clientKey {
			t.Fatalf("%+v, %v", v, err)
		}
		if !client.Accepts([]byte(end.Signature(&v)), &v.ServerKey) {
			t.Error("signature refused")
		}
		source["user"] = "" // the server would refuse now; the cache needs not know
	}
	if v, _, err := cache.proven(t.Context(), "other", end); err != nil || !v.Nobody {
		t.Errorf("%+v, %v", v, err)
	}
	if len(cache.known) != 1 {
		t.Errorf("%d roles in the cache", len(cache.known))
	}
}

// TestVerifiersLeaveMemory: a verifier is forgotten some time after it was read, whether or not anybody logs in
// again, and the cache is bounded.
func TestVerifiersLeaveMemory(t *testing.T) {
	stored, _ := proxytest.StoredVerifier(t, "pencil")
	v, _ := scram.ParseVerifier(stored)
	cache := NewCache(proxytest.StaticVerifiers{})
	for i := range mostVerifiers + 10 {
		cache.keep(fmt.Sprint("role", i), v)
	}
	if n := len(cache.known); n != mostVerifiers {
		t.Errorf("%d roles in the cache", n)
	}
	if cache.cached(fmt.Sprint("role", mostVerifiers+9)).Nobody {
		t.Error("the newest one is not in the cache")
	}

	cache = NewCache(proxytest.StaticVerifiers{})
	cache.life = time.Millisecond
	for i := range 10 {
		cache.keep(fmt.Sprint("role", i), v)
	}
	left := func() (int, bool) {
		cache.mu.Lock()
		defer cache.mu.Unlock()
		return len(cache.known), cache.timer != nil
	}
	for n, running := left(); n > 0 || running; n, running = left() {
		select {
		case <-t.Context().Done():
			t.Fatalf("%d roles are still in the cache", n)
		case <-time.After(time.Millisecond):
		}
	}
	// One that is too old is not used, though it is still there.
	cache.known["role"] = knownVerifier{v, time.Now()}
	if !cache.cached("role").Nobody {
		t.Error("an old verifier is used")
	}
}
