// Package wire tests sessions message by message: what has no call in it passes unchanged, to the
// byte, and what has one keeps the protocol's rules. A random driver compares scripts with calls
// with a server that has the functions itself.
//
// It refuses to know drivers (clients) and what is done with SQL alone.
package wire

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
