package web

import "sync"

// Bounds of requests that are being answered. A request waits for the server, or for others of its
// log-in, and keeps one of the connections of --http meanwhile.
const (
	mostAsking       = 24 // at a time
	mostAskingOfRole = 8
)

// asking counts requests that are being answered, by role. The zero value is none. It is safe for concurrent use.
type asking struct {
	mu   sync.Mutex
	all  int
	each map[string]int
}

// enter counts a request in, unless there are too many.
func (a *asking) enter(role string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all >= mostAsking || a.each[role] >= mostAskingOfRole {
		return false
	}
	if a.each == nil {
		a.each = map[string]int{}
	}
	a.all++
	a.each[role]++
	return true
}

// leave counts it out.
func (a *asking) leave(role string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all--
	if a.each[role]--; a.each[role] == 0 {
		delete(a.each, role)
	}
}
