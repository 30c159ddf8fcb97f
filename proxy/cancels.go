package proxy

import "sync"

// cancels knows to which server each session's key belongs.
type cancels struct {
	mu       sync.Mutex
	targets  map[cancelKey]target
	sessions map[cancelKey]*session // those that run
}

// serve makes known which session has the key.
func (c *cancels) serve(key cancelKey, sess *session) {
	if key == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions == nil {
		c.sessions = make(map[cancelKey]*session)
	}
	c.sessions[key] = sess
}

// session returns the session that has the key, or nil.
func (c *cancels) session(key cancelKey) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[key]
}

// add makes key known; false means that it is in use already, by a server of another host.
func (c *cancels) add(key cancelKey, at target) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.targets[key]; taken {
		return false
	}
	if c.targets == nil {
		c.targets = make(map[cancelKey]target)
	}
	c.targets[key] = at
	return true
}

func (c *cancels) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.targets)
}

func (c *cancels) remove(key cancelKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.targets, key)
	delete(c.sessions, key)
}

func (c *cancels) find(key cancelKey) (target, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.targets[key]
	return t, ok
}
