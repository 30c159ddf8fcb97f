// Package statements tests where in a statement a call may stand, what becomes of it there, where the places of errors
// point, and what is refused; with the schema and, if the proxy is told so, without.
//
// It refuses to know more of the functions than is needed to see that they ran.
package statements

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
