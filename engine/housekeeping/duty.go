package housekeeping

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
)

const (
	sliceOfTurn = 100 * time.Millisecond // after which a service leaves the rest of its work to its next turn

	// What a service may cost: it rests this many times as long as it worked. Where it has left work, it
	// works for a fifth of the time.
	dutyFactor    = 20
	backlogFactor = 4

	// A statement of a service that takes longer than its limit is given up. The limit grows while
	// that happens, for the machine may be slow.
	leastLimit   = time.Second
	longestLimit = 5 * time.Second

	heldPause    = time.Second // until what was locked is tried again
	longestPause = 5 * time.Second
	heldInterval = time.Minute // between two lines in the log about what a service is held up by
)

// duty is a service that has its turns in the rounds of a Keeper. What clients keep in the database
// decides how much there is to do and how long a statement takes, so no turn ends with the work: it
// ends with its slice or the limit of its statement, and the other services have theirs.
type duty struct {
	name     string
	interval time.Duration // between the beginnings of two turns
	work     func(ctx context.Context, s *slice) error

	due     time.Time     // of the next turn
	limit   time.Duration // of a statement
	backlog bool          // the last turn has left work
	failing time.Duration // the pause after the last turn, which has failed; 0: it has not
	told    time.Time     // when the log was last told what holds it up
}

// slice is the time that a service has in one turn.
type slice struct {
	ends time.Time     // zero: never
	cut  bool          // the service has left work
	rest time.Duration // until the next turn, as the service itself says; 0: as all do
}

// over reports whether the time has passed, and that the service therefore leaves the work that it
// still has. A service asks when it has done something and there is more.
func (s *slice) over() bool {
	s.cut = !s.ends.IsZero() && !time.Now().Before(s.ends)
	return s.cut
}

// turn lets a service work if its time has come. Whatever keeps it from working is its own affair as
// long as the connection lives: it tries again later, and the others have their turns.
func (k *Keeper) turn(ctx context.Context, d *duty) error {
	began := time.Now()
	if began.Before(d.due) || k.conn.IsClosed() {
		return nil
	}
	d.limit = max(d.limit, leastLimit)
	if err := k.limitStatements(ctx, d.limit); err != nil {
		return err
	}
	s := &slice{ends: time.Now().Add(k.slice)}
	err := d.work(ctx, s)
	now := time.Now()
	took := now.Sub(began)
	d.backlog = s.cut && err == nil
	code := refusal.SQLState(err)
	switch {
	case err == nil:
		d.failing = 0
		if took < d.limit/4 {
			d.limit /= 2
		}
		d.due = now.Add(d.pause(took, s))
		return nil
	case ctx.Err() != nil || k.conn.IsClosed() || errors.Is(err, schema.ErrGone):
		return err
	case code == refusal.LockNotAvailable:
		// A role that may delete messages may also lock their table. That is no use of the database: else it would take
		// a connection for as long as it likes.
		d.due = now.Add(heldPause)
		k.tell(d, "housekeeping held up by a lock", err)
		return nil
	case code == refusal.QueryCanceled && took >= d.limit:
		d.limit = min(2*d.limit, longestLimit)
		d.due = now.Add(backlogFactor * took)
		k.tell(d, "housekeeping held up by the length of its work", err)
		return nil
	default:
		d.failing = min(max(2*d.failing, heldPause), longestPause)
		d.due = now.Add(d.failing)
		k.Health.Failed(err)
		k.tell(d, "a service of housekeeping fails", err)
		return nil
	}
}

// pause is the time between a turn and the next one.
func (d *duty) pause(took time.Duration, s *slice) time.Duration {
	switch {
	case s.rest > 0:
		return s.rest
	case s.cut:
		return backlogFactor * took
	}
	return max(d.interval-took, dutyFactor*took)
}

// limitStatements bounds the statements that follow. The server is told when that changes.
func (k *Keeper) limitStatements(ctx context.Context, limit time.Duration) error {
	if k.limit == limit {
		return nil
	}
	if _, err := k.conn.Exec(ctx, fmt.Sprintf("set statement_timeout = %d", limit.Milliseconds())); err != nil {
		return fmt.Errorf("bounding statements: %w", err)
	}
	k.limit = limit
	return nil
}

// tell notes in the log what holds a service up, once in a while.
func (k *Keeper) tell(d *duty, what string, err error) {
	now := time.Now()
	if d.told.IsZero() || now.Sub(d.told) >= heldInterval {
		d.told = now
		k.config.Log.Warn(what, zap.String("service", d.name), zap.Error(err))
	}
}
