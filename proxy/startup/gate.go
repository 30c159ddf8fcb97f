package startup

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Gate bounds how many connections are in a part of startup at a time. When it is full, the next one takes the place of
// one that keeps the proxy waiting: of the address that has most of them, the one that has been silent for longest. So
// whoever opens connections and says nothing is in nobody's way but their own, and a client that is served is never
// dropped: not while its bytes are there to be read, not while the server is awaited, not before it has been silent for
// the time of grace.
//
// Silent members that follow one another use up the time of all: a place that each of them keeps for the whole time of
// grace serves one client in that time. So each that is dropped shortens the time, which grows again with time. Members
// of an address that has less than its share of the places keep the whole of it.
type Gate struct {
	room  int           // members at most
	grace time.Duration // silence that costs a member its place once others wait for it
	least time.Duration // to which silent members shorten that
	queue int           // how many may wait at most; 0: any number
	spare int           // how many more than wait are made to leave, for those that will come next

	mu        sync.Mutex
	members   map[*Client]bool     // true: was told to leave
	held      map[netip.Prefix]int // how many there are by origin
	leaving   int                  // how many were told to leave
	crowd     map[netip.Prefix]int // the others by origin
	shortened time.Duration        // the time of grace that is left by silent members, as of counted
	counted   time.Time
	waiting   []*waiter // in the order in which they came
	again     *time.Timer
}

// waiter is one that waits for a place.
type waiter struct {
	*Client
	let chan error // gets one value, and has room for it; nil: the place is taken
}

// reviewPause is how often a full gate looks for members that have become silent while others wait.
const reviewPause = 50 * time.Millisecond

// Each member that is dropped takes 1/graceCut of the time of grace from those that follow, and each second without one
// gives a regrowth-th of a second back: where members keep places until they are dropped, that is far less.
const (
	graceCut = 8
	regrowth = 10
)

// ErrCrowded is the refusal of those who may not even wait, ErrSilent the end of members that lose their place.
var (
	ErrCrowded = errors.New("too many clients log in at once")
	ErrSilent  = errors.New("client said nothing while others waited to log in")
)

func newGate(room int, grace time.Duration, queue int) *Gate {
	return &Gate{
		room: room, grace: grace, least: grace, shortened: grace, queue: queue,
		members: make(map[*Client]bool), held: make(map[netip.Prefix]int), crowd: make(map[netip.Prefix]int),
	}
}

// Enter waits until s has a place, which Leave gives back. An error says why it gets none.
func (g *Gate) Enter(ctx context.Context, s *Client) error {
	g.mu.Lock()
	if len(g.members) < g.room && len(g.waiting) == 0 {
		g.add(s)
		g.mu.Unlock()
		return nil
	}
	w := &waiter{Client: s, let: make(chan error, 1)}
	g.waiting = append(g.waiting, w)
	if g.queue > 0 && len(g.waiting) > g.queue {
		g.shorten()
	}
	g.serve()
	g.mu.Unlock()
	select {
	case err := <-w.let:
		return err
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, w); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	} else if err := <-w.let; err == nil {
		g.remove(s)
	}
	return context.Cause(ctx)
}

// Leave gives the place of s back; without one it does nothing.
func (g *Gate) Leave(s *Client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.remove(s)
}

// add and remove are called with g.mu held, as are all that follow.

func (g *Gate) add(s *Client) {
	g.members[s] = false
	g.held[s.origin]++
	g.crowd[s.origin]++
}

func (g *Gate) remove(s *Client) {
	leaving, is := g.members[s]
	if !is {
		return
	}
	delete(g.members, s)
	thin(g.held, s)
	if leaving {
		g.leaving--
	} else {
		thin(g.crowd, s)
	}
	g.serve()
}

// thin takes s out of a count by origin.
func thin(count map[netip.Prefix]int, s *Client) {
	if count[s.origin]--; count[s.origin] == 0 {
		delete(count, s.origin)
	}
}

// shorten refuses one of those that wait: the last to come of the address from which most wait.
func (g *Gate) shorten() {
	crowd := make(map[netip.Prefix]int)
	for _, w := range g.waiting {
		crowd[w.origin]++
	}
	last := 0
	for i, w := range g.waiting {
		if crowd[w.origin] >= crowd[g.waiting[last].origin] {
			last = i
		}
	}
	g.waiting[last].let <- ErrCrowded
	g.waiting = slices.Delete(g.waiting, last, last+1)
}

// serve gives free places to those that wait, and makes silent members leave for the others.
func (g *Gate) serve() {
	if len(g.waiting) == 0 {
		return
	}
	for len(g.waiting) > 0 && len(g.members) < g.room {
		first := 0 // of the address that has fewest members; of those, the one that came first
		for i, w := range g.waiting {
			if g.crowd[w.origin] < g.crowd[g.waiting[first].origin] {
				first = i
			}
		}
		w := g.waiting[first]
		g.waiting = slices.Delete(g.waiting, first, first+1)
		g.add(w.Client)
		w.let <- nil
	}
	if wanted := len(g.waiting) - g.leaving; wanted > 0 {
		g.drop(wanted + g.spare)
	}
	if len(g.waiting) > 0 && g.again == nil {
		g.again = time.AfterFunc(reviewPause, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.again = nil
			g.serve()
		})
	}
}

// silence is a member and how long the proxy has been waiting for it.
type silence struct {
	*Client
	lasted time.Duration
}

// drop makes up to n silent members leave. Their places are free when they have left.
func (g *Gate) drop(n int) {
	silent := make(map[netip.Prefix][]silence) // by origin, the longest first
	now := time.Now()
	g.shortened = min(g.grace, g.shortened+now.Sub(g.counted)/regrowth)
	g.counted = now
	for s := range g.members {
		if lasted := s.silence(now); lasted >= g.graceOf(s) && !s.dropped.Load() {
			silent[s.origin] = append(silent[s.origin], silence{s, lasted})
		}
	}
	for _, list := range silent {
		slices.SortFunc(list, func(a, b silence) int { return cmp.Compare(b.lasted, a.lasted) })
	}
	for n > 0 && len(silent) > 0 {
		worst, of := silence{}, netip.Prefix{}
		for origin, list := range silent {
			more := g.crowd[origin] - g.crowd[of]
			if worst.Client == nil || more > 0 || more == 0 && list[0].lasted > worst.lasted {
				worst, of = list[0], origin
			}
		}
		if silent[of] = silent[of][1:]; len(silent[of]) == 0 {
			delete(silent, of)
		}
		if worst.hasInput() {
			continue // its bytes are there; the proxy is late, not the client
		}
		g.members[worst.Client] = true
		g.leaving++
		thin(g.crowd, worst.Client)
		g.shortened = max(g.least, g.shortened-g.shortened/graceCut)
		worst.drop(ErrSilent)
		n--
	}
}

// graceOf is the time of grace of a member: shortened, unless its origin has less than an equal share of the places.
func (g *Gate) graceOf(s *Client) time.Duration {
	if g.held[s.origin]*len(g.held) < len(g.members) {
		return g.grace
	}
	return g.shortened
}
