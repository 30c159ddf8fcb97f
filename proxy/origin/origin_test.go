package origin

import (
	"net/netip"
	"testing"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for a, want := range map[string]string{
		"192.0.2.1": "192.0.2.1/32", "::ffff:192.0.2.1": "192.0.2.1/32", "2001:db8::1": "2001:db8::/64", "2001:db8::ffff%eth0": "2001:db8::/64",
		"127.0.0.1": "::/64", "127.255.0.9": "::/64", "::ffff:127.1.1.1": "::/64", "::1": "::/64",
	} {
		if got := Of(netip.MustParseAddr(a)); got.String() != want {
			t.Errorf("%s counts as %s, not %s", a, got, want)
		}
	}
	if got := Of(netip.Addr{}); got != (netip.Prefix{}) {
		t.Errorf("no address counts as %s", got)
	}
}
