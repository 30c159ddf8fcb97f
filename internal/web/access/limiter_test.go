package access

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// taken counts the attempts that are let at a time, of so many that each gives.
func taken(l *limiter, now time.Time, many int, each func(int) attempt) (n int) {
	for i := range many {
		if _, ok := l.take(each(i), now); ok {
			n++
		}
	}
	return n
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := newLimiter()
	a := newAttempt("u", netip.MustParseAddr("2001:db8::1"), false)
	if n := taken(l, now, attemptsAtOnce+1, func(int) attempt { return a }); n != attemptsAtOnce {
		t.Fatalf("%d attempts", n)
	}
	// The neighbour in the same network is the same one.
	wait, ok := l.take(newAttempt("u", netip.MustParseAddr("2001:db8::ffff"), false), now)
	if ok || wait <= 0 || wait > attemptPause {
		t.Errorf("one more: %v after %v", ok, wait)
	}
	for what, other := range map[string]attempt{
		"another network": newAttempt("u", netip.MustParseAddr("2001:db8:0:1::1"), false), "another role": newAttempt("v", netip.MustParseAddr("2001:db8::1"), false),
		"a browser that is known to the role": newAttempt("u", netip.MustParseAddr("2001:db8::1"), true),
	} {
		if _, ok := l.take(other, now); !ok {
			t.Errorf("%s has to wait", what)
		}
	}
	if _, ok := l.take(a, now.Add(wait)); !ok {
		t.Error("the wait was too short")
	}
	l.giveBack(a, now.Add(wait))
	if _, ok := l.take(a, now.Add(wait)); !ok {
		t.Error("what succeeds counts")
	}
}

// All of 127.0.0.0/8 is one address, which is bounded, also as many roles, and no address, whether it
// guesses as one role or as many, takes attempts from another or from a browser that is known.
func TestGuessesKeepNobodyOut(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	const many = 10_000
	local := func(i int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("127.%d.%d.1", i>>8, i&255)) }
	for what, c := range map[string]struct {
		most int
		each func(int) attempt
	}{
		"as one role":   {attemptsAtOnce, func(i int) attempt { return newAttempt("u", local(i), false) }},
		"as many roles": {fromAttemptsAtOnce, func(i int) attempt { return newAttempt(fmt.Sprint(i), local(i), false) }},
	} {
		l := newLimiter()
		if n := taken(l, now, many, c.each); n != c.most {
			t.Errorf("one machine's attempts %s: %d", what, n)
		}
		for who, a := range map[string]attempt{
			"another address": newAttempt("u", netip.MustParseAddr("192.0.2.1"), false), "a known browser": newAttempt("u", local(0), true),
		} {
			if _, ok := l.take(a, now); !ok {
				t.Errorf("after attempts %s, %s has to wait", what, who)
			}
		}
	}
}

// However many addresses and roles come, the limiter does not grow.
func TestLimiterIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := newLimiter()
	for i := range 2 * mostBuckets {
		l.take(newAttempt(fmt.Sprint("u", i), netip.MustParseAddr(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)), false), now)
	}
	if n := len(l.buckets); n > mostBuckets {
		t.Errorf("%d are remembered", n)
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
