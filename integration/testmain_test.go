// Package integration runs the real mbusproxy binary, built with the race detector, between real
// clients and a real Postgres, and holds it to two promises: ordinary work has the same results
// direct and through the proxy, and a queue call belongs to the client's own transaction.
//
// One cluster and one proxy serve the whole run. Every test has a database of its own, so tests
// may run in parallel, and it can be reached from two endpoints: direct and proxied.
//
// A missing client (psql, node, java, a Python driver) is a failure that names what to install;
// no test is skipped. The package knows nothing of how the proxy works inside: it imports
// internal/pgcluster to have a Postgres, the catalogue to hold the manual to it, and nothing else of the
// product.
package integration

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m, hostBasedAuthentication()...) }
