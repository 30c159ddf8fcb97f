package startup

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"syscall"
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
	s := New(server, end, NewTurns())
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
	before := g.queues.count
	g.mu.Unlock()
	done := make(chan error, 1)
	go func() { done <- g.Enter(c.ctx, c.Client) }()
	proxytest.Eventually(t, "it waits", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.queues.count > before
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

// TestSilenceShortensGrace: silent members that follow one another have less and less time, an address with few of the
// places has all of it, and time gives it back.
func TestSilenceShortensGrace(t *testing.T) {
	g := newGate(5, time.Hour, 0)
	g.least = time.Minute
	few := newGateClient(t, "10.0.0.2")
	for _, c := range []gateClient{few, newGateClient(t, "10.0.0.1"), newGateClient(t, "10.0.0.1"), newGateClient(t, "10.0.0.1")} {
		mustEnter(t, g, c)
	}
	drop := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.drop(2)
	}
	for range 100 {
		c := newGateClient(t, "10.0.0.1")
		mustEnter(t, g, c)
		c.silentFor(g.shortened + time.Second)
		few.silentFor(min(g.shortened+time.Second, 59*time.Minute))
		drop()
		if c.ctx.Err() == nil || few.ctx.Err() != nil {
			t.Fatalf("with %v left, dropped: %v, of the few: %v", g.shortened, c.ctx.Err(), few.ctx.Err())
		}
		g.Leave(c.Client)
	}
	if g.shortened > 2*g.least {
		t.Errorf("silent members still have %v", g.shortened)
	}
	few.silentFor(time.Hour)
	if drop(); few.ctx.Err() == nil {
		t.Error("who has few places has them for ever")
	}
	g.Leave(few.Client)
	g.counted = time.Now().Add(-time.Minute)
	if drop(); g.shortened < g.least+time.Minute/regrowth || g.shortened > 10*g.least {
		t.Errorf("after a minute the time of grace is %v", g.shortened)
	}
	if g.counted = time.Now().Add(-regrowth * time.Hour); g.shortened == g.grace {
		t.Error("all came back at once")
	}
	if drop(); g.shortened != g.grace {
		t.Errorf("%v never came back", g.grace-g.shortened)
	}
}

// TestDripsAreSilence: an answer that comes byte by byte is none until it is whole, but what is written begins a new wait.
func TestDripsAreSilence(t *testing.T) {
	client, server := net.Pipe()
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	s := New(server, nil, NewTurns())
	w := watched{pipeSocket{server}, s}
	var b [1]byte
	for range 2 {
		go func() { _, _ = client.Write([]byte("x")) }()
		if _, err := w.Read(b[:]); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	s.waited.Store(int64(time.Minute))
	if got := s.silence(now); got != 0 {
		t.Errorf("silent for %v while nobody reads", got)
	}
	s.since.Store(now.Add(-time.Second).UnixNano())
	if got := s.silence(now); got != time.Minute+time.Second {
		t.Errorf("silent for %v", got)
	}
	go func() { _, _ = client.Read(b[:]) }()
	if _, err := w.Write(b[:]); err != nil {
		t.Fatal(err)
	}
	if got := s.silence(now); got != time.Second {
		t.Errorf("silent for %v since the last words", got)
	}
}

// pipeSocket makes a pipe a Socket.
type pipeSocket struct {
	net.Conn
}

func (pipeSocket) CloseWrite() error { return nil }

func (pipeSocket) SyscallConn() (syscall.RawConn, error) { return nil, syscall.ENOTSUP }

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
	if g.queues.count != 1 {
		t.Errorf("%d wait", g.queues.count)
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
	if s := New(server, nil, NewTurns()); s.origin.IsValid() {
		t.Errorf("origin %s", s.origin)
	}
}

func TestGatesLeaveDescriptors(t *testing.T) {
	for _, limit := range []int{0, 20, 1024, 1 << 20} {
		places, logins, _ := NewGates(limit)
		if places.room > max(limit/2, 8) || places.room > MaxStartups || logins.room < 1 || logins.room+logins.queue >= places.room {
			t.Errorf("%d descriptors: %d places, %d logins, %d wait", limit, places.room, logins.room, logins.queue)
		}
	}
}

// named is c logging in with a name.
func (c gateClient) named(name string) gateClient {
	c.Name = name
	return c
}

// TestGatePacesThoseWhoComeToNothing: who comes through, or cannot help it, does not count.
func TestGatePacesThoseWhoComeToNothing(t *testing.T) {
	const room = 3
	g := newGate(room, time.Hour, 0)
	g.pace, g.burst, g.spent.at = 1e-6, room, time.Now()
	for n := range 10 * room {
		c := newGateClient(t, "10.0.0.1")
		mustEnter(t, g, c)
		if n%2 == 0 {
			g.CameThrough(c.Client)
		} else {
			g.Forgive(c.Client)
		}
		g.Forgive(c.Client) // does nothing the second time
		g.Leave(c.Client)
	}
	for range room {
		c := newGateClient(t, "10.0.0.1")
		mustEnter(t, g, c)
		g.Leave(c.Client)
		g.Forgive(c.Client) // too late
	}
	done := enterLater(t, g, newGateClient(t, "10.0.0.2"))
	g.mu.Lock()
	if len(g.members) > 0 || g.affordable() != 0 {
		t.Errorf("%d members; %d may come", len(g.members), g.affordable())
	}
	g.mu.Unlock()
	if len(done) > 0 {
		t.Fatalf("it was let in: %v", <-done)
	}
	g.mu.Lock()
	g.pace = 1000
	g.mu.Unlock()
	if err := <-done; err != nil { // nobody leaves: time alone lets it in
		t.Error(err)
	}
}

// TestGatePacesThoseWhoAreNotKnown: a known one counts once it has come to nothing, and one that the server keeps waiting until it is let in.
func TestGatePacesThoseWhoAreNotKnown(t *testing.T) {
	const room = 8
	g := newGate(room, time.Hour, 0)
	g.pace, g.burst, g.spent.at = 1e-6, 2, time.Now()
	enter := func(name string) gateClient {
		t.Helper()
		c := newGateClient(t, "10.0.0.1").named(name)
		mustEnter(t, g, c)
		return c
	}
	want := func(n int) {
		t.Helper()
		g.mu.Lock()
		defer g.mu.Unlock()
		if got := g.affordable(); got != n {
			t.Errorf("%d more may come to nothing, and not %d", got, n)
		}
	}
	first := enter("known")
	want(1)
	g.CameThrough(first.Client)
	g.Leave(first.Client)
	want(2)
	var known []gateClient
	for range room {
		known = append(known, enter("known"))
	}
	want(2)
	for _, c := range known[:room-1] {
		g.CameThrough(c.Client)
		g.Leave(c.Client)
	}
	g.Leave(known[room-1].Client) // for the server takes long
	want(1)
	g.CameThrough(known[room-1].Client)
	want(2)
	g.Leave(enter("known").Client)
	want(1)
}

// TestKnownNamesHaveTheirOwnLine: who has logged in before passes those who make up names, also where more wait than may.
func TestKnownNamesHaveTheirOwnLine(t *testing.T) {
	g := newGate(2, time.Hour, 3)
	known := newGateClient(t, "10.0.0.1").named("known")
	mustEnter(t, g, known)
	g.CameThrough(known.Client)
	g.Leave(known.Client)
	members := []gateClient{newGateClient(t, "10.0.0.1").named("a"), newGateClient(t, "10.0.0.1").named("b")}
	for _, m := range members {
		mustEnter(t, g, m)
	}
	var strangers []<-chan error
	for _, name := range []string{"c", "d", "e"} {
		strangers = append(strangers, enterLater(t, g, newGateClient(t, "10.0.0.1").named(name)))
	}
	back := newGateClient(t, "10.0.0.1").named("known")
	done := make(chan error, 1)
	go func() { done <- g.Enter(back.ctx, back.Client) }()
	if err := <-strangers[2]; !errors.Is(err, ErrCrowded) {
		t.Errorf("the last stranger: %v", err)
	}
	g.Leave(members[0].Client)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(strangers[0])+len(strangers[1]) > 0 {
		t.Error("a stranger was first")
	}
	elsewhere := newGateClient(t, "10.0.0.2").named("known")
	if g.lineOf(elsewhere.Client).name != "" {
		t.Error("the name is known from where nobody has logged in with it")
	}
	for n := range 2 * maxKnown {
		elsewhere.Name = strconv.Itoa(n)
		g.CameThrough(elsewhere.Client)
	}
	if len(g.known) != maxKnown {
		t.Errorf("%d names are known", len(g.known))
	}
}

// TestKnownNamesPassThePace: those who come to nothing use up the pace of all who do, and not of those of whom all come through.
func TestKnownNamesPassThePace(t *testing.T) {
	const room = 3
	g := newGate(room, time.Hour, 0)
	g.pace, g.burst, g.spent.at = 1e-6, 2, time.Now()
	client := func(name string) gateClient { return newGateClient(t, "10.0.0.1").named(name) }
	for _, name := range []string{"known", "other"} {
		c := client(name)
		mustEnter(t, g, c)
		g.CameThrough(c.Client)
		g.Leave(c.Client)
	}
	for range 2 {
		c := client("made up")
		mustEnter(t, g, c)
		g.Leave(c.Client)
	}
	stranger := enterLater(t, g, client("made up"))
	var known []gateClient
	for range 2 { // as many at once as the burst has
		c := client("known")
		mustEnter(t, g, c)
		known = append(known, c)
	}
	third := enterLater(t, g, client("known"))
	g.CameThrough(known[0].Client)
	g.Leave(known[0].Client)
	if err := <-third; err != nil {
		t.Error(err)
	}
	g.Leave(known[1].Client) // it has come to nothing: now those who use its name wait as strangers do
	fourth := enterLater(t, g, client("known"))
	mustEnter(t, g, client("other"))
	if len(stranger)+len(fourth) > 0 {
		t.Error("one was let in ahead of the pace")
	}
	g.mu.Lock()
	g.pace, g.spent.at = 1000, time.Now()
	g.mu.Unlock()
	var err error
	select { // there is room for one of them
	case err = <-fourth:
	case err = <-stranger:
	}
	if err != nil {
		t.Error(err)
	}
}

// TestLinesTakeTurns: who comes to a line of their own waits for one of each other line, and not for all that came before.
func TestLinesTakeTurns(t *testing.T) {
	q := newQueues()
	add := func(name string) {
		q.add(&waiter{Client: new(Client), line: line{name: name}, let: make(chan error, 1)})
	}
	all := func(line) bool { return true }
	same := func(line, line) int { return 0 }
	for range 5 {
		add("many")
	}
	q.next(all, same)
	add("one")
	got := ""
	for w := q.next(all, same); w != nil; w = q.next(all, same) {
		got += w.line.name + " "
	}
	if got != "one many many many many " && got != "many one many many many " {
		t.Error(got)
	}
	add("one")
	if q.next(func(l line) bool { return l.name != "one" }, same) != nil || q.waiting(all) != 1 {
		t.Error("one was taken that may not")
	}
}
