// Package clients tests that real client programs and drivers (psql, pgx, JDBC, node-postgres, psycopg2 and 3, libpq)
// get the same results of ordinary work direct and through the proxy, log in the same, and can use queues.
//
// The programs are in java, node, python and testdata. A missing one is a failure that names what to install; no test
// is skipped. The package refuses to know what a call means beyond what the programs print.
package clients

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m, hostBasedAuthentication()...) }
