package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

const (
	trialSeconds = 1
	trialClients = 8
	fillAttempts = 4
	// Messages a second for which a run is filled at least.
	firstRateOne  = 20000
	firstRateMany = 60000
)

// form is a consuming statement written by hand: {q} is the table, {pick} says which rows, {n} how many.
type form struct{ name, sql string }

// handForms are the candidates; each table and size takes the one that is fastest in a trial.
var handForms = []form{
	{"join on id", "delete from {q} using (select id from {q} x {pick} order by id limit {n} for update skip locked) y where {q}.id = y.id returning {q}.*;"},
	{"join on ctid", "delete from {q} using (select ctid as tid from {q} x {pick} order by id limit {n} for update skip locked) y where {q}.ctid = y.tid returning {q}.*;"},
	{"ctid of an array", "delete from {q} where ctid = any (array(select ctid from {q} x {pick} order by id limit {n} for update skip locked)) returning {q}.*;"},
}

// handFormOne works for one message only.
var handFormOne = form{"ctid of a subquery", "delete from {q} where ctid = (select ctid from {q} x {pick} order by id limit {n} for update skip locked) returning {q}.*;"}

func (f form) text(w words, n int64) string {
	return strings.NewReplacer("{q}", w.table, "{pick}", w.pick, "{n}", fmt.Sprint(n)).Replace(f.sql)
}

// errEmpty says that a run came to the end of its messages.
var errEmpty = errors.New("INVALID: the queue ran empty")

// consumer is one arm of a consuming cell.
type consumer struct {
	side   side
	script string
	batch  int64
	rate   float64 // the throughput that the table is filled for: the highest one measured so far, before that a guess
	known  bool    // rate was measured
	asked  float64 // the throughput asked for; 0: as much as there can be
}

// consume runs an arm on a table that was filled with more than the time allows for.
func (b *bench) consume(ctx context.Context, c *consumer, mode string, clients, seconds int) (sample, error) {
	fill := 1.4 * c.rate * float64(warmUp+seconds)
	for range fillAttempts {
		s, err := b.consumeOnce(ctx, c, mode, clients, seconds, int64(fill)+2*c.batch*int64(clients))
		if err != nil && !errors.Is(err, errEmpty) {
			return s, err
		}
		if err == nil {
			got := s.tps * float64(c.batch)
			if c.known {
				got = max(c.rate, got) // the speed may depend on how full the table is
			}
			c.rate, c.known = got, true
			return s, nil
		}
		fill *= 2
	}
	return sample{}, errEmpty
}

func (b *bench) consumeOnce(ctx context.Context, c *consumer, mode string, clients, seconds int, filled int64) (sample, error) {
	if err := b.refill(ctx, c.side, filled); err != nil {
		return sample{}, err
	}
	s, err := b.pgbench(ctx, c.side.path, load{script: c.script, mode: mode, clients: clients, seconds: seconds, rate: c.asked})
	if err != nil {
		return s, err
	}
	s.batches = c.batch
	left, err := b.left(ctx, c.side)
	if err != nil {
		return s, err
	}
	switch got := filled - left; {
	case left < c.batch*int64(clients):
		return s, errEmpty // other clients may have locked what was left
	case got != s.count*c.batch:
		return s, fmt.Errorf("INVALID: %d transactions of %d messages each took %d messages out of %d", s.count, c.batch, got, filled)
	}
	return s, nil
}

func (b *bench) consumeCell(q queueSpec) *cell {
	rate := float64(firstRateOne)
	if q.batch > 1 {
		rate = firstRateMany
	}
	var ours, byHand []*consumer
	tables := shelf{}
	c := &cell{name: q.name()}
	for _, s := range b.sides(q.work) {
		x := &consumer{side: s, batch: int64(q.batch), rate: rate}
		if s.consume == nil {
			byHand = append(byHand, x)
		} else {
			x.script = s.consume(q.batch)
			ours = append(ours, x)
		}
		if q.takesTurns() {
			c.turns = append(c.turns, turn{name: s.name, path: s.path, clients: q.clients, stock: tables.of(s, false), say: func(s *session) (func() error, error) {
				return always(q.mode, x.script)(s) // the form of a statement by hand is chosen later
			}})
			continue
		}
		c.arms = append(c.arms, arm{name: s.name, run: func(ctx context.Context) (sample, error) {
			return b.consume(ctx, x, q.mode, q.clients, b.opt.seconds)
		}})
	}
	c.prepare = func(ctx context.Context, c *cell) error {
		if c.turns == nil { // how much a run takes decides how much it is given
			for _, x := range ours {
				if _, err := b.consume(ctx, x, q.mode, q.clients, trialSeconds); err != nil {
					return err
				}
			}
		}
		if byHand == nil {
			return nil
		}
		note, err := b.chooseForm(ctx, byHand[0])
		for _, x := range byHand {
			x.script, x.rate = byHand[0].script, byHand[0].rate
		}
		c.note = note
		return err
	}
	return c
}

// chooseForm leaves the fastest of the hand-written forms in c; the first time for a table and size
// it tries them, and tells of it.
func (b *bench) chooseForm(ctx context.Context, c *consumer) (string, error) {
	key := fmt.Sprintf("%s/%d", c.side.table, c.batch)
	if best, ok := b.forms[key]; ok {
		c.script = best.text(c.side.words, c.batch)
		return "", nil
	}
	forms := handForms
	if c.batch == 1 {
		forms = append([]form{handFormOne}, forms...)
	}
	var best form
	var bestTPS float64
	var tried []string
	for _, f := range forms {
		c.script = f.text(c.side.words, c.batch)
		s, err := b.consume(ctx, c, "prepared", trialClients, trialSeconds)
		if err != nil {
			return "", fmt.Errorf("trying %s: %w", f.name, err)
		}
		tried = append(tried, fmt.Sprintf("%s %.0f", f.name, s.tps))
		if s.tps > bestTPS {
			best, bestTPS = f, s.tps
		}
	}
	b.forms[key] = best
	c.script = best.text(c.side.words, c.batch)
	return fmt.Sprintf("%s (trial: %s)", best.name, strings.Join(tried, ", ")), nil
}
