package startup

import (
	"context"
	"testing"
	"time"
)

// TestPace: who becomes a session does not count, and time forgives the others.
func TestPace(t *testing.T) {
	p := &Pace{rate: 1e-3, burst: 2}
	for n := range 2 {
		if ahead := p.count(); ahead > 0 {
			t.Errorf("connection %d waits %v", n, ahead)
		}
	}
	p.Forgive()
	if ahead := p.count(); ahead > 0 {
		t.Errorf("after a session the next one waits %v", ahead)
	}
	if ahead := p.count(); ahead <= 0 || ahead > time.Hour {
		t.Errorf("the one beyond the burst waits %v", ahead)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for range 1000 {
		p.Keep(done) // who is told to end does not wait
	}
	p.spent.at = p.spent.at.Add(-1000 * time.Hour)
	if ahead := p.count(); ahead > 0 {
		t.Errorf("much later one waits %v", ahead)
	}
}
