// Package service starts and stops what runs in the background.
//
// It refuses to know what that is.
package service

import (
	"context"
	"sync"
	"time"
)

// Service runs one function in a goroutine of its own. It begins idle, Start makes it run, and it has ended when the
// function has returned or when Stop came first. It never runs again. It is safe for concurrent use.
type Service struct {
	mu      sync.Mutex
	started bool
	cancel  context.CancelFunc // of run's context; nil unless it runs
	done    chan struct{}      // closed when it has ended
}

// New makes an idle Service.
func New() *Service { return &Service{done: make(chan struct{})} }

// Start runs the function, whose context Stop ends. Only the first call does so, and none after Stop.
func (s *Service) Start(run func(ctx context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return
	}
	s.started = true
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() {
		defer close(s.done)
		defer cancel()
		run(ctx)
	}()
}

// Stop ends the Service and waits until it has ended. It may be called more than once, and before Start.
func (s *Service) Stop() {
	s.mu.Lock()
	if !s.started {
		s.started = true
		close(s.done)
	}
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Unlock()
	<-s.done
}

// Done is closed when the Service has ended.
func (s *Service) Done() <-chan struct{} { return s.done }

// Sleep lets d pass, or less when ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
