package relay

import (
	"sync"

	"mbusproxy/proxy/upstream"
	"mbusproxy/proxy/wire"
)

// cancels knows to which server each session's key belongs.
type cancels struct {
	mu       sync.Mutex
	targets  map[wire.CancelKey]upstream.Target
	sessions map[wire.CancelKey]*Session // those that run
}

// serve makes known which session has the key.
func (c *cancels) serve(key wire.CancelKey, sess *Session) {
	if key == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions == nil {
		c.sessions = make(map[wire.CancelKey]*Session)
	}
	c.sessions[key] = sess
}

// session returns the session that has the key, or nil.
func (c *cancels) session(key wire.CancelKey) *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[key]
}

// add makes key known; false means that it is in use already, by a server of another host.
func (c *cancels) add(key wire.CancelKey, at upstream.Target) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.targets[key]; taken {
		return false
	}
	if c.targets == nil {
		c.targets = make(map[wire.CancelKey]upstream.Target)
	}
	c.targets[key] = at
	return true
}

func (c *cancels) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.targets)
}

func (c *cancels) remove(key wire.CancelKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.targets, key)
	delete(c.sessions, key)
}

func (c *cancels) find(key wire.CancelKey) (upstream.Target, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.targets[key]
	return t, ok
}
