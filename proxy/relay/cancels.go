package relay

import (
	"context"
	"sync"

	"mbusproxy/proxy/upstream"
	"mbusproxy/proxy/wire"
)

// cancels knows whose each cancel key is.
type cancels struct {
	mu   sync.Mutex
	keys map[wire.CancelKey]*keyOwner
}

// keyOwner is the session of a key.
type keyOwner struct {
	at      upstream.Target // where its server is
	session *Session        // nil until it runs
	settled chan struct{}   // closed when it runs or has ended; nil until somebody waits for that
}

// settle tells those who wait. It is called with the mutex held.
func (o *keyOwner) settle() {
	if o.settled != nil {
		close(o.settled)
		o.settled = nil
	}
}

// add makes key known; false means that it is in use already, by a server of another host.
func (c *cancels) add(key wire.CancelKey, at upstream.Target) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.keys[key]; taken {
		return false
	}
	if c.keys == nil {
		c.keys = make(map[wire.CancelKey]*keyOwner)
	}
	c.keys[key] = &keyOwner{at: at}
	return true
}

// serve makes known that the session of key runs.
func (c *cancels) serve(key wire.CancelKey, sess *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.keys[key]; o != nil {
		o.session = sess
		o.settle()
	}
}

// session returns the session that has the key, or nil. One that has told its client the key and
// does not run yet is waited for.
func (c *cancels) session(ctx context.Context, key wire.CancelKey) *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		o := c.keys[key]
		switch {
		case o == nil:
			return nil
		case o.session != nil:
			return o.session
		}
		if o.settled == nil {
			o.settled = make(chan struct{})
		}
		settled := o.settled
		c.mu.Unlock()
		select {
		case <-settled:
		case <-ctx.Done():
		}
		c.mu.Lock()
		if ctx.Err() != nil {
			return nil
		}
	}
}

func (c *cancels) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.keys)
}

func (c *cancels) remove(key wire.CancelKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.keys[key]; o != nil {
		o.settle()
		delete(c.keys, key)
	}
}

func (c *cancels) find(key wire.CancelKey) (at upstream.Target, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.keys[key]
	if o == nil {
		return at, false
	}
	return o.at, true
}
