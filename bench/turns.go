package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"mbusproxy/bench/internal/rig"
)

const (
	// turnLength is how long an arm's turn lasts. What else the machine does changes slowly beside
	// it, so it meets all arms of a round alike.
	turnLength = 50 * time.Millisecond
	// turnsEach is how many rounds of turns there are for each of the cell's rounds.
	turnsEach = 20
	// turnsUnseen are the first rounds, which do not count: sessions plan what they have prepared, and caches fill.
	turnsUnseen = 20
)

// turn is an arm of a cell whose sessions stay open while the arms take turns many times a second.
type turn struct {
	name    string
	path    rig.Path
	clients int
	say     conversation
	stock   *stock // what it posts to or consumes from; nil: nothing
	cpu     bool   // the processor time of the sessions' server processes is measured, too
}

// conversation makes what one session says for each transaction. It is called once for each session.
type conversation func(s *session) (transaction func() error, err error)

// takeTurns measures a cell of turns.
func (b *bench) takeTurns(ctx context.Context, c *cell, r *result) (err error) {
	sessions := make([][]*session, len(c.turns))
	defer func() {
		for _, s := range sessions {
			err = errors.Join(err, hangUp(s))
		}
	}()
	for i := range c.turns {
		if sessions[i], err = c.turns[i].connect(ctx); err != nil {
			return fmt.Errorf("%s: %w", c.turns[i].name, err)
		}
	}
	order := orders(len(c.turns))
	for round := range turnsUnseen + turnsEach*b.opt.manyRounds() {
		for _, i := range order() {
			t := &c.turns[i]
			if t.stock != nil {
				if err := t.stock.provide(ctx, b); err != nil {
					return fmt.Errorf("%s: %w", t.name, err)
				}
			}
			s, err := t.take(sessions[i])
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			if round >= turnsUnseen {
				r.samples[t.name] = append(r.samples[t.name], s)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for i := range c.turns {
		if s := c.turns[i].stock; s != nil {
			if err := s.check(ctx, b); err != nil {
				return fmt.Errorf("%s: %w", c.turns[i].name, err)
			}
		}
	}
	return nil
}

// take has all sessions of an arm run transactions for one turn.
func (t *turn) take(sessions []*session) (sample, error) {
	before, err := t.used(sessions)
	if err != nil {
		return sample{}, err
	}
	began := time.Now()
	var wg sync.WaitGroup
	for _, s := range sessions {
		wg.Go(func() { s.talk(began.Add(turnLength)) })
	}
	wg.Wait()
	took := time.Since(began)
	after, err := t.used(sessions)
	if err != nil {
		return sample{}, err
	}
	var out sample
	for _, s := range sessions {
		if s.err != nil {
			return sample{}, s.err
		}
		out.count += s.count
	}
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(out.count) }
	out.batches = 1
	out.tps = float64(out.count) / took.Seconds()
	out.cpu, out.server = each(after.middle-before.middle), each(after.server-before.server)
	if t.stock != nil {
		t.stock.moved += out.count
	}
	return out, nil
}

// usage is the processor time used so far by the process in the middle, and by the sessions' server processes.
type usage struct{ middle, server time.Duration }

func (t *turn) used(sessions []*session) (u usage, err error) {
	if t.path.PID != 0 {
		if u.middle, err = rig.CPUTime(t.path.PID); err != nil {
			return u, err
		}
	}
	if !t.cpu {
		return u, nil
	}
	for _, s := range sessions {
		d, err := rig.CPUTime(s.pid)
		if err != nil {
			return u, err
		}
		u.server += d
	}
	return u, nil
}

// stock is the messages that arms of a cell post or consume, in one table.
type stock struct {
	side   side
	posts  bool
	filled int64
	moved  int64 // posted or consumed since it was filled
	ready  bool  // it was filled
}

const (
	stockFull    = 30000
	stockReserve = 5000 // more than a turn takes
)

// shelf has a stock for each table: arms that reach the same one by different ways share it.
type shelf map[string]*stock

func (h shelf) of(s side, posts bool) *stock {
	key := s.database + "." + s.table
	if h[key] == nil {
		h[key] = &stock{side: s, posts: posts}
	}
	return h[key]
}

// provide makes sure that the arm whose turn comes has messages to consume, or that those posted do
// not become too many.
func (s *stock) provide(ctx context.Context, b *bench) error {
	if s.ready && (s.posts && s.moved < stockFull || !s.posts && s.filled-s.moved > stockReserve) {
		return nil
	}
	if err := s.check(ctx, b); err != nil {
		return err
	}
	s.moved, s.ready = 0, true
	if !s.posts {
		s.filled = stockFull
	}
	return b.refill(ctx, s.side, s.filled)
}

// check tells whether there is what the transactions counted should have left.
func (s *stock) check(ctx context.Context, b *bench) error {
	switch {
	case !s.ready:
		return nil
	case s.posts:
		return b.expect(ctx, s.side, s.moved)
	default:
		return b.expect(ctx, s.side, s.filled-s.moved)
	}
}

// turnNote tells of the length and number of turns, for the report.
func (o options) turnNote() string {
	return fmt.Sprintf("The sessions stay open, and the arms take turns of %s, %d each.", strings.Replace(turnLength.String(), "ms", " ms", 1), turnsEach*o.manyRounds())
}
