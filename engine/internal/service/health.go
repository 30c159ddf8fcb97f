package service

import (
	"sync"
	"time"
)

// Health is how a service fares. It is safe for concurrent use; the zero value has nothing to tell.
type Health struct {
	mu     sync.Mutex
	report Report
}

// Report is what a Health tells.
type Report struct {
	WorkedAt time.Time // when the service last did what it is there for; zero: never
	Failures uint64    // how often it was interrupted
	FailedAt time.Time // when it last was
	Failure  string    // by what; "" since it works again
}

// Worked notes that the service does what it is there for.
func (h *Health) Worked() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.report.WorkedAt, h.report.Failure = time.Now(), ""
}

// Failed notes that the service was interrupted.
func (h *Health) Failed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.report.Failures++
	h.report.FailedAt, h.report.Failure = time.Now(), err.Error()
}

// Report tells how the service fares.
func (h *Health) Report() Report {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.report
}
