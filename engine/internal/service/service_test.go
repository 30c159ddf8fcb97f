package service

import (
	"context"
	"sync"
	"testing"
)

// TestRepetition: a Service runs its function once, however often and in whatever order it is started and stopped.
func TestRepetition(t *testing.T) {
	runs := 0
	s := New()
	running := make(chan struct{})
	run := func(ctx context.Context) {
		runs++
		close(running)
		<-ctx.Done()
	}
	s.Start(run)
	s.Start(run)
	<-running
	select {
	case <-s.Done():
		t.Fatal("it has ended before it was stopped")
	default:
	}
	var stops sync.WaitGroup
	for range 3 {
		stops.Go(s.Stop)
	}
	stops.Wait()
	<-s.Done()
	s.Start(run)
	s.Stop()
	if runs != 1 {
		t.Errorf("the function ran %d times", runs)
	}
}

// TestStopFirst: what was stopped is never started.
func TestStopFirst(t *testing.T) {
	s := New()
	s.Stop()
	s.Start(func(context.Context) { t.Error("it runs") })
	s.Stop()
	<-s.Done()
}

// TestEndsByItself: a function that returns ends the Service.
func TestEndsByItself(t *testing.T) {
	s := New()
	s.Start(func(context.Context) {})
	<-s.Done()
	s.Stop()
}
