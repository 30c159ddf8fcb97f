package waiting

import (
	"cmp"
	"slices"
	"time"
)

// A machine of everything that takes part in waiting, small enough that all its states can be
// reached: see docs/waiting-model.md. Its Lines are the program's: each step makes them from the
// state, calls their methods and writes down what they are then. The Watcher's turns, the phases of
// package pipeline and the database are told anew, as the program has them.

const (
	mostProxies  = 2
	mostLines    = 2 // of a proxy
	mostCalls    = 3
	mostMessages = 2
)

// callPhase says how far a call is.
type callPhase uint8

const (
	// callOut: it is not there.
	callOut callPhase = iota
	// waitAsked: the probe query has been sent. It looks, locks and answers at once.
	waitAsked
	// waitFound: it has locked a message; the answer is under way.
	waitFound
	// waitNothing: it has found nothing. The Sync behind it is answered, and Place.Sleep comes next.
	waitNothing
	// waitIdle: it is between Place.Sleep and Place.Awake.
	waitIdle
	// waitOver: the time is over, and the statement is to run whatever there is.
	waitOver
	// callRuns: it has left the line, and the statement is on its way to the server.
	callRuns
	// callHolds: the statement has run, and its transaction is open.
	callHolds
	// callReleases: it was cancelled, and the transaction in which it has locked a message is to end.
	callReleases
)

// callState is a call and its Place.
type callState struct {
	phase   callPhase
	message uint8 // that it has locked or received, from 1; 0: none
	rank    uint8 // in its line, from 0
	stale   bool  // Place.version is not that of the Lines
	woken   bool  // Place.woken
}

// messageState says where a message is.
type messageState uint8

const (
	messageUnposted messageState = iota
	// messageDelayed: it is due when the clock passes its number.
	messageDelayed
	// messageThere: it is due; a call may hold it.
	messageThere
	messageGone
)

// watcherPhase says what a Watcher does.
type watcherPhase uint8

const (
	// watcherClosed: there is no session; Watcher.run waits for its bell.
	watcherClosed watcherPhase = iota
	// watcherListens: it waits for its bell, a notification or the time.
	watcherListens
	// watcherSwept: it has asked for the snapshot, and Lines.ask comes next.
	watcherSwept
	// watcherAsked: the query is on its way.
	watcherAsked
	// watcherLooked: it has looked, and the answer is on its way.
	watcherLooked
)

// proxyState is a proxy: its Lines without their places, and its Watcher.
type proxyState struct {
	down    bool
	changed bool // Lines.changed: how soon does not matter
	touched inQueues
	turns   [mostLines]uint8
	served  [mostLines]uint8
	owed    [mostLines]bool
	vain    [mostLines]bool
	fresh   [mostLines]bool
	again   [mostLines]bool

	ended     inQueues // transactions have ended that concern these, and Watcher.Note comes next
	phase     watcherPhase
	rung      bool             // its bell
	told      inQueues         // by another proxy
	notified  inQueues         // of these the notification is on its way
	moved     bool             // a transaction has ended anywhere since the last sweep
	all       bool             // all lines are to be asked about
	delayEnds [mostLines]uint8 // the times of the clock that line.delayEnds are; 0: none
	asked     [mostLines]uint8 // how many each line wants to know of
	ready     [mostLines]uint8 // what the look has found
	next      [mostLines]uint8 // the first delay that ends in each
}

// inQueues is Queues: a bit for the queue of each line.
type inQueues uint8

// inAny is AnyQueue.
const inAny inQueues = 1<<(mostLines+1) - 1

// queues are the Queues of the machine's.
func (q inQueues) queues() (out Queues) {
	if q == inAny {
		return AnyQueue
	}
	for i := range mostLines {
		if q>>i&1 == 1 {
			out |= QueuesOf(keyOf(i, false).Queue)
		}
	}
	return out
}

// inQueuesOf is the way back.
func inQueuesOf(q Queues) (out inQueues) {
	if q == AnyQueue {
		return inAny
	}
	for i := range mostLines {
		if q.has(QueuesOf(keyOf(i, false).Queue)) {
			out |= 1 << i
		}
	}
	return out
}

// state is one state of the machine.
type state struct {
	calls    [mostCalls]callState
	messages [mostMessages]messageState
	holders  [mostMessages]uint8 // the call that has it, from 1; otherHolder: somebody past the proxies
	proxies  [mostProxies]proxyState
	clock    uint8 // message n is due when it is more than n
}

const otherHolder = mostCalls + 1

// machine says which machine it is, and what may happen in it.
type machine struct {
	calls, messages, proxies int
	proxy                    [mostCalls]int    // of each call
	line                     [mostCalls]int    // of each call
	of                       [mostMessages]int // the line of each message
	selective                bool
	wants                    [mostCalls]uint8 // which messages, in bits, where it is selective

	delays   bool // posts may be delayed, and messages leased
	cancels  bool // calls are cancelled, and their time may be over
	takes    bool // somebody past the proxies consumes
	past     bool // and rolls back, and posts
	loses    bool // sessions and their transactions are lost, and with them what a proxy would have been told
	lossy    bool // notifications may be lost
	fails    bool // the sessions of Watchers fail
	crashes  bool // proxies do
	sweeps   bool
	closes   bool // sessions of Watchers are closed where nobody waits
	splits   bool // between a sweep and what follows something may happen
	quiet    bool // transactions that end have posted nothing, as far as proxies know
	unnamed  bool // proxies do not know which queues transactions concern
	mutation mutation
}

// mutation is a mistake that is made on purpose.
type mutation int

const (
	none           mutation = iota
	forgetsVersion          // a place does not know that something has changed since its look
	keepsTurn               // who is cancelled in its turn does not hand it on
	asksQuietly             // a look at all lines does not count as a change
	asksLoudly              // a look at some lines does
	forgetsDelay            // nobody remembers when a delay ends
	forgetsNew              // a new line is not looked at for its delays
	forgetsUnasked          // a line in which nobody waited is not looked at later
	forgetsAgain            // what falls due during a look is not looked at again
	forgetsServed           // who has left with a message during a look is taken for one whom it has counted
	silent                  // the end of a transaction is not noted
	wakesLast               // who has come last is woken first
	namesOther              // the end of a transaction is noted for another queue
)

func keyOf(line int, selective bool) Key {
	return Key{Queue: "ab"[line : line+1], Consumer: "c", Selective: selective}
}

// open makes the Lines of a proxy.
func (m *machine) open(s *state, proxy int) (l *Lines, places [mostCalls]*Place, rung *bool) {
	rung = new(bool)
	l = NewLines(func() { *rung = true })
	p := &s.proxies[proxy]
	l.version, l.next = 1, mostCalls
	if p.changed {
		l.changed = lookNow // a signal that hurries the Watcher rings its bell once more, and is not needed
	}
	l.touched = p.touched.queues()
	for i := range m.calls {
		c := &s.calls[i]
		if m.proxy[i] != proxy || !c.joined() {
			continue
		}
		key := keyOf(m.line[i], m.selective)
		of := l.lines[key]
		if of == nil {
			n := m.line[i]
			of = l.begin(key)
			of.turns, of.fresh, of.again, of.asked, of.served, of.owed = int(p.turns[n]), p.fresh[n], p.again[n], int(p.asked[n]), int(p.served[n]), p.owed[n]
			of.vain, of.delayEnds = p.vain[n], instant(p.delayEnds[n])
		}
		of.places++
		place := &Place{lines: l, line: of, number: uint64(c.rank), version: 1, woken: c.woken}
		if c.stale {
			place.version = 0
		}
		if c.phase == waitIdle && !c.woken {
			of.idle = append(of.idle, place)
			l.idle++
		}
		places[i] = place
	}
	for _, of := range l.lines {
		slices.SortFunc(of.idle, func(a, b *Place) int { return cmp.Compare(a.number, b.number) })
	}
	return l, places, rung
}

// instant is a time of the clock as one of the Lines; 0: none.
func instant(clock uint8) time.Time {
	if clock == 0 {
		return time.Time{}
	}
	return time.Unix(int64(clock), 0)
}

// joined reports whether the call has a place.
func (c *callState) joined() bool { return c.phase >= waitAsked && c.phase <= waitOver }

// with has the Lines of a proxy do something, and gives what is wrong with that. The phases in the
// state are those before it; to changes them for what is written down.
func (m *machine) with(s *state, proxy int, do func(l *Lines, places *[mostCalls]*Place), to func()) (wrong string) {
	l, places, rung := m.open(s, proxy)
	var idle [mostCalls]bool
	for i, p := range places {
		idle[i] = p != nil && s.calls[i].phase == waitIdle && !p.woken
	}
	do(l, &places)
	for i, p := range places {
		for j, first := range places {
			if idle[i] && idle[j] && m.line[i] == m.line[j] && p.woken && !first.woken && first.number < p.number && slices.Contains(first.line.idle, first) {
				wrong = "one was woken before the first of the line"
			}
		}
	}
	to()
	p := &s.proxies[proxy]
	p.rung = p.rung || *rung
	p.changed, p.touched = l.changed != lookNever, inQueuesOf(l.touched)
	for i := range mostLines {
		p.turns[i], p.fresh[i], p.again[i], p.served[i], p.owed[i], p.vain[i], p.delayEnds[i] = 0, false, false, 0, false, false, 0
		if of := l.lines[keyOf(i, m.selective)]; of != nil {
			p.turns[i], p.fresh[i], p.again[i], p.served[i], p.owed[i] = uint8(of.turns), of.fresh, of.again, uint8(of.served), of.owed
			if p.vain[i] = of.vain; !of.delayEnds.IsZero() {
				p.delayEnds[i] = uint8(of.delayEnds.Unix())
			}
		}
	}
	for i := range m.calls {
		c := &s.calls[i]
		switch {
		case m.proxy[i] != proxy:
		case !c.joined():
			c.rank, c.stale, c.woken = 0, false, false
		default:
			place := places[i]
			c.rank = 0
			for j, other := range places {
				if other != nil && s.calls[j].joined() && m.line[j] == m.line[i] && other.number < place.number {
					c.rank++
				}
			}
			c.woken = place.woken
			// What a place remembers counts from its look to its wait.
			c.stale = (c.phase == waitAsked || c.phase == waitNothing) && place.version != l.version
		}
	}
	return wrong
}

// sort puts calls that are alike into an order, so that states are one that differ in their numbers only.
func (m *machine) sort(s *state) {
	for i := range m.calls {
		for j := i; j > 0 && m.proxy[j] == m.proxy[j-1] && m.line[j] == m.line[j-1] && m.wants[j] == m.wants[j-1] && s.calls[j].before(&s.calls[j-1]); j-- {
			s.calls[j], s.calls[j-1] = s.calls[j-1], s.calls[j]
		}
	}
	for i, c := range s.calls {
		if c.message != 0 {
			s.holders[c.message-1] = uint8(i + 1)
		}
	}
}

// before orders calls that are alike. Two that have places have different ranks, and two that hold
// messages different ones; what is equal else is equal.
func (c *callState) before(o *callState) bool {
	return cmp.Or(cmp.Compare(c.phase, o.phase), cmp.Compare(c.rank, o.rank), cmp.Compare(c.message, o.message)) < 0
}

// broken says what is wrong with a state.
func (m *machine) broken(s state) string {
	for n := range m.proxies {
		var turns [mostLines]uint8
		for i := range m.calls {
			if c := &s.calls[i]; m.proxy[i] == n && c.woken {
				turns[m.line[i]]++
			}
		}
		if turns != s.proxies[n].turns {
			return "the turns of a line are not those of its places"
		}
	}
	for i, by := range s.holders {
		switch {
		case by != 0 && s.messages[i] != messageThere:
			return "one holds what is not there"
		case by != 0 && by != otherHolder && s.calls[by-1].message != uint8(i+1):
			return "a message has a holder that does not know of it"
		}
	}
	for i, c := range s.calls {
		if c.message != 0 && s.holders[c.message-1] != uint8(i+1) {
			return "two hold one message"
		}
	}
	return ""
}

// owed reports whether a message can be delivered, and somebody waits for it.
func (m *machine) owed(s state, message int) bool {
	if s.messages[message] != messageThere || s.holders[message] != 0 {
		return false
	}
	for i := range m.calls {
		switch s.calls[i].phase {
		case waitAsked, waitNothing, waitIdle:
			if m.line[i] == m.of[message] && m.wanted(i, message) {
				return true
			}
		}
	}
	return false
}

func (m *machine) wanted(call, message int) bool {
	return !m.selective || m.wants[call]>>message&1 == 1
}
