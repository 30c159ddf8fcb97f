// Package security tests what those who have no right to it, or mean ill, can do: statements that are made to cost the
// proxy its memory or its time, errors that look like the proxy's own, selectors that try to run code, calls without
// rights.
//
// The attacks come first and one after another: they measure memory and time, so no test of this package runs beside
// them. It refuses to know what calls give to those who may.
package security

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
