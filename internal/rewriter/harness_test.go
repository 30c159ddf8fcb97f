package rewriter

import (
	"context"
	"testing"

	"mbusproxy/engine"
	"mbusproxy/internal/pgcluster"
)

// engineOnCluster opens an engine on a cluster of the test's own; both end with the test.
func engineOnCluster(t testing.TB) (*pgcluster.Cluster, *engine.Engine) {
	t.Helper()
	cluster, err := pgcluster.Temp(pgcluster.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	eng, err := engine.Open(t.Context(), engine.Options{AdminDSN: cluster.DSN("postgres")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(eng.Close)
	return cluster, eng
}
