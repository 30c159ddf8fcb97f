package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

const (
	trialSeconds = 1
	fillAttempts = 4
	// Messages a second for which a run is filled at least.
	firstRateOne  = 20000
	firstRateMany = 60000
)

// form is a consuming statement written by hand; %d is the number of messages.
type form struct{ name, sql string }

// handForms are the candidates; each cell takes the one that is fastest in a trial.
var handForms = []form{
	{"join on id", "delete from q using (select id from q order by id limit %d for update skip locked) x where q.id = x.id returning q.*;"},
	{"join on ctid", "delete from q using (select ctid as tid from q order by id limit %d for update skip locked) x where q.ctid = x.tid returning q.*;"},
	{"ctid of an array", "delete from q where ctid = any (array(select ctid from q order by id limit %d for update skip locked)) returning q.*;"},
}

// handFormOne works for one message only.
var handFormOne = form{"ctid of a subquery", "delete from q where ctid = (select ctid from q order by id limit %d for update skip locked) returning q.*;"}

func ourConsume(batch int) string {
	if batch == 1 {
		return "select * from mbus4.consume('" + queueName + "');"
	}
	return fmt.Sprintf("select * from mbus4.consumen('%s', 'default', %d);", queueName, batch)
}

// errEmpty says that a run came to the end of its messages.
var errEmpty = errors.New("INVALID: the queue ran empty")

// consumer is one arm of a consuming cell.
type consumer struct {
	side   side
	script string
	batch  int64
	rate   float64 // the throughput that the table is filled for; the highest one measured so far
}

// consume runs an arm on a table that was filled with more than the time allows for.
func (b *bench) consume(ctx context.Context, c *consumer, mode string, clients, seconds int) (sample, error) {
	fill := 1.4 * c.rate * float64(seconds)
	for range fillAttempts {
		s, err := b.consumeOnce(ctx, c, mode, clients, seconds, int64(fill)+2*c.batch*int64(clients))
		if err != nil && !errors.Is(err, errEmpty) {
			return s, err
		}
		if err == nil {
			c.rate = max(c.rate, s.tps*float64(c.batch)) // the speed may depend on how full the table is
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
	s, err := b.pgbench(ctx, c.side.path, load{script: c.script, mode: mode, clients: clients, seconds: seconds})
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

func (b *bench) consumeCell(batch int, mode string, clients int) *cell {
	rate := float64(firstRateOne)
	if batch > 1 {
		rate = firstRateMany
	}
	hand := &consumer{side: b.hand(), batch: int64(batch), rate: rate}
	ours := &consumer{side: b.ours(), batch: int64(batch), rate: rate, script: ourConsume(batch)}
	c := &cell{name: queueCellName("consume", batch, mode, clients)}
	c.prepare = func(ctx context.Context, c *cell) error {
		if _, err := b.consume(ctx, ours, mode, clients, trialSeconds); err != nil {
			return err
		}
		note, err := b.chooseForm(ctx, hand, mode, clients)
		c.note = note
		return err
	}
	for _, x := range []*consumer{hand, ours} {
		c.arms = append(c.arms, arm{name: x.side.name, run: func(ctx context.Context) (sample, error) {
			return b.consume(ctx, x, mode, clients, b.opt.seconds)
		}})
	}
	return c
}

// chooseForm tries the hand-written forms and leaves the fastest in c.
func (b *bench) chooseForm(ctx context.Context, c *consumer, mode string, clients int) (string, error) {
	forms := handForms
	if c.batch == 1 {
		forms = append([]form{handFormOne}, forms...)
	}
	var best form
	var bestTPS float64
	var tried []string
	for _, f := range forms {
		c.script = fmt.Sprintf(f.sql, c.batch)
		s, err := b.consume(ctx, c, mode, clients, trialSeconds)
		if err != nil {
			return "", fmt.Errorf("trying %s: %w", f.name, err)
		}
		tried = append(tried, fmt.Sprintf("%s %.0f", f.name, s.tps))
		if s.tps > bestTPS {
			best, bestTPS = f, s.tps
		}
	}
	c.script = fmt.Sprintf(best.sql, c.batch)
	return fmt.Sprintf("%s (trial: %s)", best.name, strings.Join(tried, ", ")), nil
}
