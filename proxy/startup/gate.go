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
//
// Where a place costs the server something (pace), those who do not come through with it are let in at a bounded rate. Who comes
// with an origin and name that have come through before is taken to come through, until it has not: as long as all of
// their line do, the rate is not for them.
type Gate struct {
	room  int           // members at most
	grace time.Duration // silence that costs a member its place once others wait for it
	least time.Duration // to which silent members shorten that
	queue int           // how many may wait at most; 0: any number
	spare int           // how many more than wait are made to leave, for those that will come next
	pace  float64       // how many a second are let in who do not come through; 0: any number
	burst int           // how many such at once, beyond those

	mu        sync.Mutex
	members   map[*Client]*member
	held      map[netip.Prefix]int // how many there are by origin
	leaving   int                  // how many were told to leave
	crowd     map[netip.Prefix]int // the others by origin
	inLine    map[line]int         // and by line
	shortened time.Duration        // the time of grace that is left by silent members, as of counted
	counted   time.Time
	spent     tally           // of those that have not come through, or are not known to, less those that pace forgives
	known     map[line]*tally // by who has come through, of those that have not since, less those that failedForgiven forgives
	queues    queues
	again     *time.Timer
}

// member is one that has a place.
type member struct {
	line    line
	leaving bool // was told to leave
}

// account says how a client counts for the pace of a Gate.
type account uint8

const (
	unsettled account = iota // it may come through
	charged                  // it is among the spent, until it has come through
	excused                  // it has come through, or it is not for it that it has not
)

// reviewPause is how often a full gate looks for members that have become silent while others wait.
const reviewPause = 10 * time.Millisecond

// Each member that is dropped takes 1/graceCut of the time of grace from those that follow, and each second without one
// gives a regrowth-th of a second back: where members keep places until they are dropped, that is far less.
const (
	graceCut = 8
	regrowth = 10
)

// failedForgiven is how many of a known line that have not come through are forgiven in a second.
const failedForgiven = 1

// maxKnown is how many lines have a name of their own at most: a role's name has 63 bytes.
const maxKnown = 4096

// ErrCrowded is the refusal of those who may not even wait, ErrSilent the end of members that lose their place.
var (
	ErrCrowded = errors.New("too many clients log in at once")
	ErrSilent  = errors.New("client said nothing while others waited to log in")
)

func newGate(room int, grace time.Duration, queue int) *Gate {
	return &Gate{
		room: room, grace: grace, least: grace, shortened: grace, queue: queue,
		members: make(map[*Client]*member), held: make(map[netip.Prefix]int), crowd: make(map[netip.Prefix]int), inLine: make(map[line]int),
		known: make(map[line]*tally), queues: newQueues(),
	}
}

// Enter waits until s has a place, which Leave gives back. An error says why it gets none.
func (g *Gate) Enter(ctx context.Context, s *Client) error {
	g.mu.Lock()
	w := &waiter{Client: s, line: g.lineOf(s), let: make(chan error, 1)}
	if g.queues.count == 0 && len(g.members) < g.room && g.mayEnter(w.line) {
		g.add(w)
		g.mu.Unlock()
		return nil
	}
	g.queues.add(w)
	s.waitedInLine = true
	if g.queue > 0 && g.queues.count > g.queue {
		g.queues.cut().let <- ErrCrowded
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
	if !g.queues.remove(w) {
		if err := <-w.let; err == nil {
			g.remove(s)
		}
	}
	return context.Cause(ctx)
}

// Leave gives the place of s back; without one it does nothing.
func (g *Gate) Leave(s *Client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.remove(s)
}

// CameThrough says that s has got what it came for: it was no burden, and from now on those who come with its origin and
// name have a line of their own.
func (g *Gate) CameThrough(s *Client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgive(s) // also where the server took so long that it has left before
	own := line{s.origin, s.Name}
	if _, known := g.known[own]; known {
		return
	}
	for l := range g.known { // any one makes room
		if len(g.known) < maxKnown {
			break
		}
		delete(g.known, l)
	}
	g.known[own] = new(tally)
}

// Forgive says that it is not for s that it has not come through. It does nothing where s has no place.
func (g *Gate) Forgive(s *Client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.members[s] != nil {
		g.forgive(s)
	}
}

// lineOf and all that follow are called with g.mu held.
func (g *Gate) lineOf(s *Client) line {
	l := line{s.origin, s.Name}
	if _, known := g.known[l]; !known {
		l.name = ""
	}
	return l
}

// mayEnter reports whether one more of a line may be let in, once there is a place.
func (g *Gate) mayEnter(l line) bool {
	return g.affordable() > 0 || g.isSound(l) && g.inLine[l] < g.burst
}

// isSound reports whether all of a known line have come through lately.
func (g *Gate) isSound(l line) bool {
	r := g.known[l]
	return r != nil && r.add(0, failedForgiven) == 0
}

// count notes that one of a line has not come through, or with -1 that it was not so.
func (g *Gate) count(l line, failed float64) {
	if r := g.known[l]; r != nil {
		r.add(failed, failedForgiven)
	}
}

// affordable is how many may be let in without being ahead of the pace.
func (g *Gate) affordable() int {
	if g.pace == 0 {
		return g.room
	}
	return int(float64(g.burst) - g.spent.add(0, g.pace))
}

func (g *Gate) charge(s *Client) {
	if g.pace > 0 && s.account == unsettled {
		s.account = charged
		g.spent.n++
		g.count(line{s.origin, s.Name}, 1)
	}
}

func (g *Gate) forgive(s *Client) {
	if s.account == charged {
		g.spent.add(-1, g.pace)
		g.count(line{s.origin, s.Name}, -1)
	}
	s.account = excused
}

func (g *Gate) add(w *waiter) {
	g.members[w.Client] = &member{line: w.line}
	if w.line.name == "" {
		g.charge(w.Client)
	}
	g.held[w.origin]++
	g.crowd[w.origin]++
	g.inLine[w.line]++
}

func (g *Gate) remove(s *Client) {
	m := g.members[s]
	if m == nil {
		return
	}
	g.charge(s)
	delete(g.members, s)
	thin(g.held, s.origin)
	if m.leaving {
		g.leaving--
	} else {
		thin(g.crowd, s.origin)
		thin(g.inLine, m.line)
	}
	g.serve()
}

// thin takes one out of a count.
func thin[K comparable](count map[K]int, of K) {
	if count[of]--; count[of] == 0 {
		delete(count, of)
	}
}

// serve gives free places to those that wait, and now and then makes silent members leave for the others.
func (g *Gate) serve() {
	for g.queues.count > 0 && len(g.members) < g.room {
		// Of the address that has fewest members; of those, of the line that has; of those, of the line whose turn it is.
		w := g.queues.next(g.mayEnter, func(a, b line) int {
			return cmp.Or(cmp.Compare(g.crowd[a.origin], g.crowd[b.origin]), cmp.Compare(g.inLine[a], g.inLine[b]))
		})
		if w == nil {
			break
		}
		g.add(w)
		w.let <- nil
	}
	if g.queues.count == 0 || g.again != nil {
		return
	}
	wanted := g.queues.waiting(g.mayEnter)
	if most := g.affordable(); most > 0 {
		wanted = min(wanted, most)
	}
	if wanted -= g.leaving; wanted > 0 {
		g.drop(wanted + g.spare)
	}
	g.again = time.AfterFunc(reviewPause, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.again = nil
		g.serve()
	})
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
		m := g.members[worst.Client]
		m.leaving = true
		g.leaving++
		thin(g.crowd, worst.origin)
		thin(g.inLine, m.line)
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
