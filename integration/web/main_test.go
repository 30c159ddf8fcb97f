// Package web tests the page in a real browser, Debian's chromium, and with requests that no browser sends.
//
// It refuses to know how the page is made: it looks at what a browser shows, and at what the server has afterwards.
package web

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/internal/pgcluster"
)

// update writes the screenshots of docs/images anew.
var update = flag.Bool("update", false, "write the screenshots")

// base is where the page of the room's proxy is, and consoleRole whose members see the proxy itself.
var base string

const consoleRole = "page_operators"

// tests are those of the room. The browser is closed behind them: chromedp removes its folder only then.
type tests struct{ *testing.M }

// Run runs them.
func (t tests) Run() int {
	code := t.M.Run()
	if err := closeBrowser(); err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		return 1
	}
	return code
}

// The cluster asks for passwords, so that the page lets somebody in; the role postgres of the
// harness needs none. What the page does not take is there, too: a password in clear text, as with
// LDAP, and none at all.
func TestMain(m *testing.M) {
	port, err := pgcluster.FreePort("127.0.0.1")
	if err != nil {
		panic(err)
	}
	base = fmt.Sprintf("http://127.0.0.1:%d/page/", port)
	harness.MainWith(tests{m}, []string{"--http", fmt.Sprintf("127.0.0.1:%d", port), "--console-role", consoleRole},
		"local all all trust",
		"host all postgres 127.0.0.1/32 trust",
		"host all cleartext 127.0.0.1/32 password",
		"host all trusted 127.0.0.1/32 trust",
		"host all all 127.0.0.1/32 scram-sha-256",
	)
}
