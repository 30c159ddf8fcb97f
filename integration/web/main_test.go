// Package web tests the page in a real browser, Debian's chromium, and with requests that no browser sends.
//
// It refuses to know how the page is made: it looks at what a browser shows, and at what the server has afterwards.
package web

import (
	"flag"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// update writes the screenshots of docs/images anew.
var update = flag.Bool("update", false, "write the screenshots")

// The cluster asks for passwords, so that the page lets somebody in; the role postgres of the harness, and those of other tests, need none. What the page does
// not take is there, too: clear text, as with LDAP.
func TestMain(m *testing.M) {
	harness.Main(m,
		"local all all trust",
		"host all postgres 127.0.0.1/32 trust",
		"host all cleartext 127.0.0.1/32 password",
		"host all trusted 127.0.0.1/32 trust",
		"host all all 127.0.0.1/32 scram-sha-256",
	)
}
