// Package security tests what those who have no right to it, or mean ill, can do: statements that are made to cost the
// proxy its memory or its time, errors that look like the proxy's own, selectors that try to run code, calls without
// rights.
//
// The attacks come first and one after another: they measure memory and time, so no test of this package runs beside
// them. It refuses to know what calls give to those who may.
package security

import (
	"fmt"
	"os"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// asked is a role that the server asks for a password. There is none: the server asks whoever says that name.
const asked = "is_asked"

func TestMain(m *testing.M) {
	if order := os.Getenv(halfLoginsVar); order != "" {
		if err := runHalfLogins(order); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	harness.Main(m, "host all "+asked+" 127.0.0.1/32 scram-sha-256", "local all all trust", "host all all 127.0.0.1/32 trust")
}
