package access

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

func TestLimiter(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := newLimiter(now)
	a := netip.MustParseAddr("2001:db8::1")
	for i := range attemptsAtOnce {
		if _, ok := l.take(a, now); !ok {
			t.Fatalf("attempt %d is one too many", i)
		}
	}
	// The neighbour in the same network is the same one.
	wait, ok := l.take(netip.MustParseAddr("2001:db8::ffff"), now)
	if ok || wait <= 0 || wait > attemptPause {
		t.Errorf("one more: %v after %v", ok, wait)
	}
	if _, ok := l.take(netip.MustParseAddr("2001:db8:0:1::1"), now); !ok {
		t.Error("another network has to wait")
	}
	if _, ok := l.take(a, now.Add(wait)); !ok {
		t.Error("the wait was too short")
	}
	l.giveBack(a)
	if _, ok := l.take(a, now.Add(wait)); !ok {
		t.Error("what succeeds counts")
	}
	if _, ok := l.take(netip.MustParseAddr("::ffff:192.0.2.1"), now); !ok || l.each[netip.MustParsePrefix("192.0.2.1/32")] == nil {
		t.Error("an IPv4 address as IPv6 is another one")
	}
}

// However many addresses come, the limiter does not grow, and all together have a limit, too.
func TestLimiterIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := newLimiter(now)
	taken := 0
	for i := range 3 * mostAddresses {
		if _, ok := l.take(netip.MustParseAddr(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)), now); ok {
			taken++
		}
	}
	if taken != allAttemptsAtOne || len(l.each) > mostAddresses {
		t.Errorf("%d attempts of %d addresses", taken, len(l.each))
	}
}

func TestSigner(t *testing.T) {
	t.Parallel()
	s, other := newSigner(), newSigner()
	signed := s.sign("login", "text")
	if text, ok := s.open("login", signed); !ok || text != "text" {
		t.Errorf("%q, %v", text, ok)
	}
	for _, bad := range []string{"", ".", "text", "text.", signed + "A", "x" + signed, other.sign("login", "text"), s.sign("form", "text")} {
		if _, ok := s.open("login", bad); ok {
			t.Errorf("%q is taken for signed", bad)
		}
	}
	if a, b := newSecret(), newSecret(); a == b || len(a) != 43 {
		t.Errorf("secrets %q and %q", a, b)
	}
}
