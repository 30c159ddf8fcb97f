package housekeeping

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
	"mbusproxy/engine/selectors"
	"mbusproxy/engine/waiting"
)

const (
	heldPause    = time.Second // until what was locked is tried again
	heldInterval = time.Minute // between two lines in the log about it

	// dutyFactor bounds what a service may cost: it rests this many times as long as it worked.
	dutyFactor = 20
)

// round does what is due.
func (k *Keeper) round(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	select {
	case <-k.wake:
		k.usedAt = time.Now()
	default:
	}
	var always time.Time
	return errors.Join(
		k.turn(&always, 0, func() error { return k.look(ctx) }),
		k.tick(ctx),
		k.hint(ctx),
		k.turn(&k.nextRelease, tickInterval/2, func() error { return k.release(ctx) }),
		k.turn(&k.nextReap, reapInterval, func() error { return k.reap(ctx) }),
		k.turn(&k.nextOthers, othersInterval, func() error { return k.config.Watcher.ObserveOthers(ctx, k.conn) }),
		k.turn(&k.nextSlots, slotsInterval, func() error { return selectors.AssignSlots(ctx, k.conn) }),
		k.turn(&k.nextTraffic, trafficInterval, func() error { return noteTraffic(ctx, k.conn) }),
		k.turn(&k.nextForget, forgetInterval, func() error { return forgetChanges(ctx, k.conn) }),
		k.turn(&k.nextCollect, collectInterval, func() error { return selectors.CollectUnused(ctx, k.conn) }),
		k.turn(&k.nextSweep, k.config.Interval, func() error { return k.sweepUp(ctx) }),
	)
}

// turn lets a service work if its time has come. A role that may delete messages may also lock
// their table. A service that gives up because of such a lock works again after heldPause; the
// connection is kept and the other services have their turns.
func (k *Keeper) turn(due *time.Time, interval time.Duration, work func() error) error {
	began := time.Now()
	if began.Before(*due) || k.conn.IsClosed() {
		return nil
	}
	err := work()
	if refusal.SQLState(err) == refusal.LockNotAvailable {
		now := time.Now()
		if now.Sub(k.heldTold) >= heldInterval {
			k.heldTold = now
			k.config.Log.Warn("housekeeping held up by a lock", zap.Error(err))
		}
		*due, k.usedAt = now.Add(heldPause), now
		return nil
	}
	*due = rest(began, interval)
	return err
}

// hint lets the hinter work. It rests for what it has searched in vain: where it has raised a hint
// the next search is short, however long this one was, and for looking below the hints it rests by
// itself.
func (k *Keeper) hint(ctx context.Context) error {
	done := false
	err := k.turn(&k.nextHint, tickInterval/2, func() error {
		err := k.hinter.Tick(ctx, k.conn)
		done = err == nil
		return err
	})
	if done {
		k.nextHint = time.Now().Add(max(tickInterval/2, dutyFactor*k.hinter.vain))
	}
	return err
}

// tick posts what is due. It does not rest for its work, which clients have asked for, and goes on
// in the next round where it left some.
func (k *Keeper) tick(ctx context.Context) error {
	done := false
	err := k.turn(&k.nextTick, 0, func() error {
		posted, err := k.scheduler.Tick(ctx, k.conn)
		done = err == nil
		if posted > 0 {
			k.config.Watcher.Note(waiting.AnyQueue, true)
			k.config.Log.Debug("schedules posted", zap.Int("messages", posted))
		}
		return err
	})
	if done {
		k.nextTick = time.Time{}
	}
	return err
}

func (k *Keeper) look(ctx context.Context) error {
	now := time.Now()
	seen, due, err := look(ctx, k.conn)
	if err != nil {
		if schema.Dropped(err) {
			return schema.ErrGone
		}
		return err
	}
	k.scheduler.note(due)
	if seen != k.activity {
		k.activity, k.usedAt = seen, now
	}
	k.config.Granter.Observe(seen.semaphores, now.Sub(k.usedAt) < idleAfter)
	return nil
}

func (k *Keeper) release(ctx context.Context) error {
	released, err := k.releaser.Release(ctx, k.conn)
	if err != nil {
		return err
	}
	if released.Woken > 0 {
		k.config.Watcher.Note(waiting.AnyQueue, true)
	}
	k.waiting = released.Waiting
	if k.waiting {
		k.config.Features.NoteOrdered()
	}
	return nil
}

func (k *Keeper) reap(ctx context.Context) (err error) {
	k.temporary, err = reapTemporary(ctx, k.conn)
	return err
}

func (k *Keeper) sweepUp(ctx context.Context) error {
	swept, err := k.sweeper.Sweep(ctx, k.conn)
	if swept > 0 {
		k.config.Log.Debug("messages swept", zap.Int64("rows", swept))
	}
	return err
}

// rest gives the time of a service's next turn, when it began its last one at began.
func rest(began time.Time, interval time.Duration) time.Time {
	now := time.Now()
	return now.Add(max(interval-now.Sub(began), dutyFactor*now.Sub(began)))
}

// look gives what tells of use, and in how many seconds a schedule is due, nil where there are none.
func look(ctx context.Context, conn *pgx.Conn) (a activity, due *float64, err error) {
	err = conn.QueryRow(ctx, `
		select last_value,
		       pg_stat_get_tuples_inserted('mbus4.message'::regclass)
		       + pg_stat_get_tuples_deleted('mbus4.message'::regclass),
		       exists (select from mbus4.semaphore where id >= 0),
		       `+dueSQL+`
		from mbus4.message_id`).Scan(&a.lastID, &a.rows, &a.semaphores, &due)
	if err != nil {
		return a, nil, fmt.Errorf("looking for activity: %w", err)
	}
	return a, due, nil
}
