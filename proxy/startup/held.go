package startup

import "sync"

// Held are the log-ins that the server keeps waiting: at the will of who logs in (post_auth_delay), of who holds a lock on
// the database, or for it has much to do. As long as there is room they wait here and not in the gate of log-ins, for no other
// shall wait for them.
type Held struct {
	least, most int // there is always room for least, and never for more than most

	mu  sync.Mutex
	all map[*Client]struct{}
}

// Enter adds c unless there are as many as room already, within the bounds.
func (h *Held) Enter(c *Client, room int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.all) >= min(max(h.least, room), h.most) {
		return false
	}
	h.all[c] = struct{}{}
	return true
}

// Leave takes c out; if it is not there it does nothing.
func (h *Held) Leave(c *Client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, c)
}

// Len is how many there are.
func (h *Held) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all)
}
