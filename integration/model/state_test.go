package model

import (
	"fmt"
	"slices"
	"time"
)

// The model keeps what a server keeps: rows that transactions make and remove. Statements run one
// at a time, so who sees a row, and whom it would make wait, follows from the states of the
// transactions alone. Only time is uncertain: a moment within a statement may count as before it or
// as after it.

// certainty is what the model knows of a condition.
type certainty int

const (
	never certainty = iota
	maybe
	surely
)

func sure(b bool) certainty {
	if b {
		return surely
	}
	return never
}

// window is the time in which a statement ran, or in which something happened.
type window struct{ from, to time.Time }

// endOfTime stands for infinity and for moments that nobody knows.
var endOfTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// modelState says how far a transaction is. Legal: open to each of the others.
type modelState int

const (
	txOpen modelState = iota
	txCommitted
	txAborted
)

// modelTx is a transaction or a subtransaction.
type modelTx struct {
	owner *modelSession
	name  string // of the savepoint it began with
	state modelState
	into  *modelTx // after RELEASE: whose fate it shares
}

func (x *modelTx) fate() modelState {
	for x.into != nil {
		x = x.into
	}
	return x.state
}

// counts reports whether s sees what x did. A nil session sees what is committed.
func (x *modelTx) counts(s *modelSession) bool {
	if x == nil {
		return false
	}
	fate := x.fate()
	return fate == txCommitted || fate == txOpen && x.owner == s
}

// foreign reports whether somebody other than s may still end x in either way.
func (x *modelTx) foreign(s *modelSession) bool {
	return x != nil && x.fate() == txOpen && x.owner != s
}

// modelRow is what all rows have.
type modelRow struct {
	made, gone *modelTx
	locks      []*modelTx // who keeps others from removing it
}

func (r *modelRow) visible(s *modelSession) bool { return r.made.counts(s) && !r.gone.counts(s) }

// held reports whether somebody other than s has removed or locked the row.
func (r *modelRow) held(s *modelSession) bool {
	return r.gone.foreign(s) || slices.ContainsFunc(r.locks, func(x *modelTx) bool { return x.foreign(s) })
}

// dead reports whether nobody can ever see the row again.
func (r *modelRow) dead() bool {
	return r.made.fate() == txAborted || r.gone != nil && r.gone.fate() == txCommitted
}

type modelQueue struct {
	modelRow
	name string
}

// modelConsumer is a consumer or, with a target, a trigger.
type modelConsumer struct {
	modelRow
	queue    string
	name     string
	of       *modelQueue // nil: a trigger whose source did not exist
	selector int         // number in modelSelectors
	target   string
}

// modelSelectors are the selectors in use; what they select is in modelMessage.meets.
var modelSelectors = []string{"", "(t.data->'k')='a'", "(t.properties->'p') = 'x' and t.id > 0", "(1=1)"}

// modelMessage is what one post made, or one copy of it along a trigger.
type modelMessage struct {
	n        int    // in its data, for recognition; kept when it is put back
	iid      string // empty: a copy along a trigger that nobody has seen yet
	place    int    // order of posting
	k, p     string // what selectors look at
	delayed  *instant
	expires  *instant
	after    []string
	destined string // queue
	from     string // the header destination as posted, which dmq keeps
	kept     bool   // the header Redeploy keeps it from being copied
	unsure   bool   // when it was due last the server alone knows: it was put back
	copied   bool   // along a trigger: those of one statement come in any order
}

func (g *modelMessage) meets(selector int) bool {
	switch selector {
	case 1:
		return g.k == "a"
	case 2:
		return g.p == "x"
	}
	return true
}

// modelCopy is a message for one consumer.
type modelCopy struct {
	modelRow
	*modelMessage
	to    *modelConsumer
	avail window // when it becomes deliverable
	// parked: it had to wait for others when it was posted. When it is woken after that is known
	// only in part: not before wakes, which is zero while nobody could have woken it.
	parked bool
	wakes  time.Time
	stored bool // its iid is in the unique index
	murky  bool // nobody knows whether it was removed
	posted int  // number of the statement that posted it
	// lease is the name of the lease that it is under, or was last; "": it was put back since, or there never was one.
	lease   string
	attempt int
}

// String says what failures should.
func (c *modelCopy) String() string {
	const clock = "05.000000"
	text := fmt.Sprintf("n=%d (iid %q, for %s.%s", c.n, c.iid, c.to.queue, c.to.name)
	if c.parked {
		text += ", parked"
	}
	if len(c.after) > 0 {
		text += fmt.Sprintf(", after %v", c.after)
	}
	return text + fmt.Sprintf(", due between %s and %s)", c.when().from.UTC().Format(clock), c.when().to.UTC().Format(clock))
}

type model struct {
	queues    []*modelQueue
	consumers []*modelConsumer
	copies    []*modelCopy
	sessions  []*modelSession
	looked    time.Time // when wakes was last brought up to date
	place     int
	statement int
	// byDue says that what one statement gives comes by when it was due, and not by its place: so
	// lease does, where a lease that has ended counts for the place.
	byDue bool
}

// beginning is the transaction that made what was always there.
var beginning = &modelTx{state: txCommitted}

func newModel(sessions []*modelSession) *model {
	dmq := &modelQueue{modelRow: modelRow{made: beginning}, name: "dmq"}
	return &model{
		queues:    []*modelQueue{dmq},
		consumers: []*modelConsumer{{modelRow: modelRow{made: beginning}, queue: "dmq", name: "default", of: dmq}},
		sessions:  sessions,
		looked:    time.Now(),
	}
}

func (m *model) queue(s *modelSession, name string) *modelQueue {
	for _, q := range m.queues {
		if q.name == name && q.visible(s) {
			return q
		}
	}
	return nil
}

func (m *model) consumer(s *modelSession, queue, name string) *modelConsumer {
	for _, c := range m.consumers {
		if c.target == "" && c.queue == queue && c.name == name && c.visible(s) {
			return c
		}
	}
	return nil
}

// subscribers are the consumers of a queue that get a message.
func (m *model) subscribers(s *modelSession, queue string, g *modelMessage) (out []*modelConsumer) {
	for _, c := range m.consumers {
		if c.target == "" && c.queue == queue && c.visible(s) && g.meets(c.selector) {
			out = append(out, c)
		}
	}
	return out
}

// unexpired says whether the copy may still be delivered, as far as its expiry goes. What lies in dmq does not expire.
func (c *modelCopy) unexpired(w window) certainty {
	switch {
	case c.expires == nil || c.expires.at.After(w.to) || c.to.queue == "dmq":
		return surely
	case !c.expires.at.After(w.from):
		return never
	}
	return maybe
}

// called are the copies under an iid that s sees.
func (m *model) called(s *modelSession, iid string) (out []*modelCopy) {
	for _, c := range m.copies {
		if c.iid == iid && iid != "" && c.visible(s) && c.to.visible(s) {
			out = append(out, c)
		}
	}
	return out
}

// present says whether one of the iids is still to be delivered to somebody, as s sees it.
func (m *model) present(s *modelSession, iids []string, w window) certainty {
	found := never
	for _, iid := range iids {
		for _, c := range m.called(s, iid) {
			found = max(found, c.unexpired(w))
		}
	}
	return found
}

// when is when the copy becomes deliverable, as far as that is known.
func (c *modelCopy) when() window {
	if !c.parked {
		return c.avail
	}
	w := window{c.avail.from, endOfTime}
	if c.wakes.After(w.from) {
		w.from = c.wakes
	}
	return w
}

// before reports whether a is delivered before b for certain, if both can be.
func (a *modelCopy) before(b *modelCopy) bool {
	if a.posted == b.posted && !a.copied && !b.copied && !a.parked && !b.parked && a.delayed == nil && b.delayed == nil {
		return a.place < b.place
	}
	return a.when().to.Before(b.when().from)
}

// deliverable says whether s may, or must, get the copy in a statement that runs in w.
func (m *model) deliverable(s *modelSession, c *modelCopy, w window) (certainty, string) {
	at := c.when()
	switch {
	case !c.visible(s):
		return never, "it is not there, or not visible"
	case c.held(s):
		return never, "another transaction holds it"
	case c.unexpired(w) == never:
		return never, "it has expired"
	case at.from.After(w.to):
		return never, "it is not due"
	case m.present(s, c.after, w) == surely:
		return never, "it waits for others"
	}
	known := c.unexpired(w)
	if at.to.After(w.from) || m.present(s, c.after, w) == maybe {
		known = min(known, maybe)
	}
	return known, ""
}

// mayBeLocked reports whether a foreign transaction may have woken the copy and so hold it.
func (m *model) mayBeLocked(s *modelSession, c *modelCopy) bool {
	if !c.parked {
		return false
	}
	return slices.ContainsFunc(m.copies, func(d *modelCopy) bool {
		return d.gone.foreign(s) && slices.Contains(c.after, d.iid)
	})
}

// waits says whether removing the copy would wait for another transaction.
func (m *model) waits(s *modelSession, c *modelCopy) certainty {
	switch {
	case c.held(s):
		return surely
	case m.mayBeLocked(s, c):
		return maybe
	}
	return never
}

// removed notes that x removed the copy: what waited for it may have been woken then.
func (m *model) removed(c *modelCopy, x *modelTx, w window) {
	c.gone = x
	for _, d := range m.copies {
		if d.parked && d.wakes.IsZero() && slices.Contains(d.after, c.iid) {
			d.wakes = w.from
		}
	}
}

// look notes which of the parked copies may have been woken since the last look, and forgets what
// is dead.
func (m *model) look() {
	now := time.Now()
	m.copies = slices.DeleteFunc(m.copies, func(c *modelCopy) bool { return c.dead() && !c.murky })
	m.consumers = slices.DeleteFunc(m.consumers, func(c *modelConsumer) bool { return c.dead() })
	m.queues = slices.DeleteFunc(m.queues, func(q *modelQueue) bool { return q.dead() })
	views := append([]*modelSession{nil}, m.sessions...)
	for _, c := range m.copies {
		if !c.parked || !c.wakes.IsZero() {
			continue
		}
		for _, s := range views {
			if m.present(s, c.after, window{m.looked, now}) != surely {
				c.wakes = m.looked
			}
		}
	}
	m.looked = now
}
