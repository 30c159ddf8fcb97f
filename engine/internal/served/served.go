// Package served opens engines for the tests of the rooms below package engine.
//
// It stands beside enginetest because it imports package engine, which a test inside one of the rooms cannot.
package served

import (
	"testing"

	"mbusproxy/engine"
	"mbusproxy/engine/internal/enginetest"
)

// Open opens an engine that the end of the test closes. Its server is the one of the tests unless opt names another.
func Open(t *testing.T, opt engine.Options) *engine.Engine {
	t.Helper()
	if opt.AdminDSN == "" {
		opt.AdminDSN = enginetest.DSN("postgres")
	}
	e, err := engine.Open(enginetest.Context(t), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}
