package housekeeping

import (
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/schema"
	"mbusproxy/engine/semaphore"
)

// A Keeper bears being started and stopped again, by several at once, and closes its session even when it never ran.
func TestKeeperStartsAndStopsOnce(t *testing.T) {
	t.Parallel()
	for _, runs := range []bool{true, false} {
		name := enginetest.NewDatabase(t)
		conn := enginetest.Connect(t, name)
		in, features, server, log := enginetest.Prepare(t, conn), &schema.Features{}, enginetest.Server(t), zap.NewNop()
		k := NewKeeper(Config{
			Server: server, Installation: in, Features: features, Interval: time.Hour, Log: log,
			Granter: semaphore.NewGranter(server, in, features, time.Hour, log),
		}, conn)
		watch := enginetest.Connect(t, name)
		if runs {
			k.Start()
			k.Start()
			enginetest.Eventually(t, "it keeps the database", func() bool {
				return enginetest.One[bool](t, watch, "select owner is not null from mbus4.service where name = 'hinter'")
			})
		}
		var stops sync.WaitGroup
		for range 3 {
			stops.Go(k.Stop)
		}
		stops.Wait()
		k.Start()
		k.Stop()
		select {
		case <-k.Done():
		default:
			t.Errorf("started %v: not done after Stop", runs)
		}
		if err := k.Verify(enginetest.Context(t)); err != schema.ErrGone { //nolint:errorlint // Verify returns it as it is
			t.Errorf("started %v: Verify gives %v after Stop", runs, err)
		}
		if !conn.IsClosed() {
			t.Errorf("started %v: the session is still open", runs)
		}
	}
}
