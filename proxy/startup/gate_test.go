package startup

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/origin"
)

// gateClient is a startup that a test moves by hand.
type gateClient struct {
	*Client
	ctx context.Context //nolint:containedctx // what the startup's own goroutine would have
}

func newGateClient(t *testing.T, address string) gateClient {
	t.Helper()
	ctx, end := context.WithCancelCause(t.Context())
	t.Cleanup(func() { end(nil) })
	client, server := net.Pipe()
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	s := New(server, end)
	s.origin = origin.Network(netip.MustParseAddr(address))
	return gateClient{s, ctx}
}

// silentFor makes it look as if the proxy had been waiting for the client.
func (c gateClient) silentFor(d time.Duration) {
	c.since.Store(time.Now().Add(-d).UnixNano())
}

func mustEnter(t *testing.T, g *Gate, c gateClient) {
	t.Helper()
	if err := g.Enter(c.ctx, c.Client); err != nil {
		t.Fatal(err)
	}
}

// enterLater begins to enter and returns when it waits.
func enterLater(t *testing.T, g *Gate, c gateClient) <-chan error {
	t.Helper()
	g.mu.Lock()
	before := len(g.waiting)
	g.mu.Unlock()
	done := make(chan error, 1)
	go func() { done <- g.Enter(c.ctx, c.Client) }()
	proxytest.Eventually(t, "it waits", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.waiting) > before
	})
	return done
}

func TestGateDropsTheSilentOfTheCrowd(t *testing.T) {
	g := newGate(3, time.Second, 0)
	a1, a2, b := newGateClient(t, "10.0.0.1"), newGateClient(t, "10.0.0.1"), newGateClient(t, "10.0.0.2")
	for _, c := range []gateClient{a1, a2, b} {
		mustEnter(t, g, c)
	}
	b.silentFor(time.Hour)    // longest, but alone
	a1.silentFor(time.Second) // less long than a2
	a2.silentFor(time.Minute)
	done := enterLater(t, g, newGateClient(t, "10.0.0.1"))
	<-a2.ctx.Done()
	if !errors.Is(context.Cause(a2.ctx), ErrSilent) || a1.ctx.Err() != nil || b.ctx.Err() != nil {
		t.Errorf("causes %v, %v, %v", context.Cause(a1.ctx), context.Cause(a2.ctx), context.Cause(b.ctx))
	}
	select {
	case err := <-done:
		t.Errorf("the place was given away before it was free: %v", err)
	default:
	}
	g.Leave(a2.Client)
	if err := <-done; err != nil {
		t.Error(err)
	}
	g.Leave(a2.Client) // does nothing
	if len(g.members) != 3 {
		t.Errorf("%d members", len(g.members))
	}
}

func TestGateKeepsThoseThatAreServed(t *testing.T) {
	g := newGate(2, time.Hour, 0)
	busy, brief := newGateClient(t, "10.0.0.1"), newGateClient(t, "10.0.0.1")
	mustEnter(t, g, busy) // is not waited for
	mustEnter(t, g, brief)
	brief.silentFor(time.Minute) // within the time of grace
	done := enterLater(t, g, newGateClient(t, "10.0.0.2"))
	g.mu.Lock()
	g.serve()
	g.mu.Unlock()
	if busy.ctx.Err() != nil || brief.ctx.Err() != nil {
		t.Errorf("dropped: %v, %v", busy.ctx.Err(), brief.ctx.Err())
	}
	brief.silentFor(2 * time.Hour)
	<-brief.ctx.Done() // found by the next review
	g.Leave(brief.Client)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestGateLetsTheFewFirst(t *testing.T) {
	g := newGate(1, time.Hour, 0)
	member := newGateClient(t, "10.0.0.1")
	mustEnter(t, g, member)
	crowd := newGateClient(t, "10.0.0.1")
	g.room = 2
	mustEnter(t, g, newGateClient(t, "10.0.0.1")) // stays, so that its address counts
	first := enterLater(t, g, crowd)
	second := enterLater(t, g, newGateClient(t, "2001:db8::1"))
	g.Leave(member.Client)
	if err := <-second; err != nil {
		t.Error(err)
	}
	select {
	case err := <-first:
		t.Errorf("both were let in: %v", err)
	default:
	}
}

func TestGateRefusesTheCrowd(t *testing.T) {
	g := newGate(1, time.Hour, 2)
	mustEnter(t, g, newGateClient(t, "10.0.0.9"))
	enterLater(t, g, newGateClient(t, "10.0.0.1"))
	last := enterLater(t, g, newGateClient(t, "10.0.0.1"))
	other := newGateClient(t, "10.0.0.2")
	done := make(chan error, 1)
	go func() { done <- g.Enter(other.ctx, other.Client) }()
	if err := <-last; !errors.Is(err, ErrCrowded) {
		t.Errorf("got %v", err)
	}
	if len(done) > 0 {
		t.Errorf("got %v", <-done)
	}
	// Who gives up waits no more.
	other.drop(ErrSilent)
	if err := <-done; !errors.Is(err, ErrSilent) {
		t.Errorf("got %v", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) != 1 {
		t.Errorf("%d wait", len(g.waiting))
	}
}

func TestOrigins(t *testing.T) {
	for a, want := range map[string]string{
		"10.1.2.3": "10.1.2.3/32", "::ffff:10.1.2.3": "10.1.2.3/32", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := origin.Network(netip.MustParseAddr(a)).String(); got != want {
			t.Errorf("%s: %s", a, got)
		}
	}
	client, server := net.Pipe()
	defer func() { _, _ = client.Close(), server.Close() }()
	if s := New(server, nil); s.origin.IsValid() {
		t.Errorf("origin %s", s.origin)
	}
}

func TestGatesLeaveDescriptors(t *testing.T) {
	for _, limit := range []int{0, 20, 1024, 1 << 20} {
		places, logins := NewGates(limit)
		if places.room > max(limit/2, 8) || places.room > MaxStartups || logins.room < 1 || logins.room+logins.queue >= places.room {
			t.Errorf("%d descriptors: %d places, %d logins, %d wait", limit, places.room, logins.room, logins.queue)
		}
	}
}
