package semaphore

import (
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"mbusproxy/engine/internal/enginetest"
)

// A Granter bears being started and stopped again, by several at once, and does nothing once it was stopped.
func TestGranterStartsAndStopsOnce(t *testing.T) {
	t.Parallel()
	s := newSemaphoreTest(t)
	in := enginetest.Prepare(t, s.conn)
	s.semaphore("k", 1, 0)
	s.enqueue("k", 1, 1)
	g := NewGranter(enginetest.Server(t), in, time.Hour, func() {}, zap.NewNop())
	g.Note()
	g.Start()
	g.Start()
	enginetest.Eventually(t, "it grants", func() bool { return enginetest.One[string](t, s.conn, statusSQL, "k") == "1+" })
	var stops sync.WaitGroup
	for range 3 {
		stops.Go(g.Stop)
	}
	stops.Wait()
	g.Start()
	g.Note()
	g.Stop()
	<-g.Done()

	never := NewGranter(enginetest.Server(t), in, time.Hour, func() {}, zap.NewNop())
	never.Stop()
	never.Start()
	<-never.Done()
}
