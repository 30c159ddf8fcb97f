package startup

import (
	"net/netip"
	"slices"
	"sync"
)

// Held are the log-ins that the server keeps waiting: at the will of who logs in (post_auth_delay), of who holds a lock on
// the database, or for it has much to do. They wait here and not in the gate of log-ins, for no other shall wait for them.
// Their number is bounded; the one that is too many ends with ErrCrowded: of the origin that has most of them, the one that
// has been here for longest.
type Held struct {
	least int

	mu  sync.Mutex
	all []*Client // in the order in which they came
}

// Enter adds c, and makes one leave if there are more than room then, and more than least.
func (h *Held) Enter(c *Client, room int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, c)
	if len(h.all) > max(h.least, room) {
		h.end()
	}
}

// Leave takes c out; if it is not there it does nothing.
func (h *Held) Leave(c *Client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.Index(h.all, c); i >= 0 {
		h.all = slices.Delete(h.all, i, i+1)
	}
}

// Len is how many there are.
func (h *Held) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all)
}

// end is called with h.mu held.
func (h *Held) end() {
	count := make(map[netip.Prefix]int)
	for _, c := range h.all {
		count[c.origin]++
	}
	most := 0
	for _, n := range count {
		most = max(most, n)
	}
	i := slices.IndexFunc(h.all, func(c *Client) bool { return count[c.origin] == most })
	h.all[i].drop(ErrCrowded)
	h.all = slices.Delete(h.all, i, i+1)
}
