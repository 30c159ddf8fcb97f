package parse

import (
	"context"
	"slices"
	"sync"
)

// class is how long a text is. Each class has tokens of its own, so that texts of one do not wait for the memory
// of those of another.
type class int

const (
	short class = iota
	middle
	long
	classes
)

func classOf(tokens int) class {
	switch {
	case tokens <= ShortTokens:
		return short
	case tokens <= MiddleTokens:
		return middle
	}
	return long
}

const (
	// turnCost is what a turn counts beside its tokens.
	turnCost = 64
	// servedAhead is how many turns those who are served have while another waits, before that has one.
	servedAhead = 16
	// maxCredit bounds what a role may have used less than others, in tokens: who could not have a turn for
	// long, for want of what its texts need, does not have all of them later.
	maxCredit = MaxTokens
)

// line is where texts wait for the parser, and what those under way share.
//
// The role that has used least, in tokens, has the next turn, however many texts it has sent, in however many
// databases. What it used is forgotten with its last text that is under way or waits. Who comes then begins
// at what the last turn began with, for what was not asked for before is nobody's due.
//
// A turn cannot be taken back. So a slot is always left to other roles, one more to other databases, one
// to those who are served, and one to texts that are not long.
type line struct {
	mu     sync.Mutex
	slots  int          // for texts under way
	free   int          // of the slots
	longs  int          // how many of those under way may still be long ones
	others int          // how many may still be of clients that are not Served
	tokens [classes]int // free; short texts take none
	// parties are the clients that wait, in the order of coming.
	parties   []*party
	roles     map[string]*account // of texts under way or waiting
	databases map[string]int      // texts under way
	began     int                 // what the role had used whose turn came last
	ahead     int                 // turns of those who are served since one of the others had one
}

// account is what a role has used.
type account struct {
	texts int // under way or waiting
	turns int // under way
	used  int // tokens
}

// party is a client with texts that wait, in the order of coming.
type party struct {
	client Client
	role   *account
	queues [classes][]*waiter
}

// waiter is a text that waits for its turn.
type waiter struct {
	tokens int
	turn   chan struct{} // closed when it has got what it needs
}

// newLine returns a line for so many processors, all of which one role may have.
func newLine(processors int) *line {
	slots := processors + 2
	return &line{
		slots: slots, free: slots, longs: max(1, processors-1), others: max(1, processors-1),
		tokens: [classes]int{middle: 2 * MiddleTokens, long: MaxTokens},
		roles:  map[string]*account{}, databases: map[string]int{},
	}
}

// take waits for the turn of a text; it returns an error only where the context has ended.
func (l *line) take(ctx context.Context, c Client, tokens int) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	w := &waiter{tokens, make(chan struct{})}
	l.mu.Lock()
	p := l.enter(c, w)
	l.serve()
	l.mu.Unlock()
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-w.turn: // both came at once
		l.end(c, tokens)
	default:
		l.leave(p, w)
		l.forget(c)
	}
	l.serve() // the one behind may be smaller
	return context.Cause(ctx)
}

// give gives back what a text of so many tokens took.
func (l *line) give(c Client, tokens int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end(c, tokens)
	l.serve()
}

// enter puts a text into its client's queue. mu is held, as for all that follow.
func (l *line) enter(c Client, w *waiter) *party {
	i := slices.IndexFunc(l.parties, func(p *party) bool { return p.client == c })
	if i < 0 {
		i = len(l.parties)
		if l.roles[c.Role] == nil {
			l.roles[c.Role] = &account{used: l.began}
		}
		l.parties = append(l.parties, &party{client: c, role: l.roles[c.Role]})
	}
	p := l.parties[i]
	p.role.texts++
	queue := &p.queues[classOf(w.tokens)]
	*queue = append(*queue, w)
	return p
}

// leave takes a text out of its queue.
func (l *line) leave(p *party, w *waiter) {
	empty := true
	for i := range p.queues {
		p.queues[i] = slices.DeleteFunc(p.queues[i], func(other *waiter) bool { return other == w })
		empty = empty && len(p.queues[i]) == 0
	}
	if empty {
		l.parties = slices.DeleteFunc(l.parties, func(other *party) bool { return other == p })
	}
}

// forget notes that a text neither waits nor is under way.
func (l *line) forget(c Client) {
	role := l.roles[c.Role]
	if role.texts--; role.texts == 0 {
		delete(l.roles, c.Role)
	}
}

// serve lets go those whose turn it is.
func (l *line) serve() {
	for l.free > 0 {
		p, w := l.next()
		if p == nil {
			return
		}
		l.begin(p, w)
		l.leave(p, w)
		close(w.turn)
	}
}

// next returns the text whose turn it is; nil if none of those that wait can have one. Of each class only the
// party before all others is looked at, so that a text for which there are too few tokens gets them in the end.
func (l *line) next() (best *party, text *waiter) {
	for class := range classes {
		var first *party
		for _, p := range l.parties {
			if len(p.queues[class]) > 0 && l.admits(p, class) && (first == nil || l.before(p, first)) {
				first = p
			}
		}
		if first == nil || class != short && first.queues[class][0].tokens > l.tokens[class] {
			continue
		}
		if best == nil || first != best && l.before(first, best) {
			best, text = first, first.queues[class][0]
		}
	}
	return best, text
}

// admits reports whether one more text of the party may be under way.
func (l *line) admits(p *party, c class) bool {
	return p.role.turns < l.slots-2 && l.databases[p.client.Database] < l.slots-1 && (p.client.Served || l.others > 0) && (c != long || l.longs > 0)
}

// before reports whether it is rather p's turn than q's.
func (l *line) before(p, q *party) bool {
	if p.client.Served != q.client.Served {
		return p.client.Served != (l.ahead >= servedAhead)
	}
	return p.role.used < q.role.used
}

// begin notes that a text is under way.
func (l *line) begin(p *party, w *waiter) {
	l.free--
	p.role.turns++
	l.databases[p.client.Database]++
	if c := classOf(w.tokens); c != short {
		l.tokens[c] -= w.tokens
		if c == long {
			l.longs--
		}
	}
	switch {
	case !p.client.Served:
		l.others--
		l.ahead = 0
	case slices.ContainsFunc(l.parties, func(p *party) bool { return !p.client.Served }):
		l.ahead++
	}
	l.began = max(l.began, p.role.used)
	p.role.used = max(p.role.used, l.began-maxCredit) + w.tokens + turnCost
}

// end notes that a text is no longer under way.
func (l *line) end(c Client, tokens int) {
	l.free++
	l.roles[c.Role].turns--
	if l.databases[c.Database]--; l.databases[c.Database] == 0 {
		delete(l.databases, c.Database)
	}
	if k := classOf(tokens); k != short {
		l.tokens[k] += tokens
		if k == long {
			l.longs++
		}
	}
	if !c.Served {
		l.others++
	}
	l.forget(c)
}
