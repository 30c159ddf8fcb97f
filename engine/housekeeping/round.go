package housekeeping

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"mbusproxy/engine/schema"
	"mbusproxy/engine/selectors"
	"mbusproxy/engine/waiting"
)

// takeUp lists the services in the order of their turns.
func (k *Keeper) takeUp() {
	k.looking = &duty{name: "look", work: func(ctx context.Context, _ *slice) error { return k.look(ctx) }}
	k.ticking = &duty{name: "schedules", work: k.tick}
	k.duties = []*duty{
		{name: "hints", interval: tickInterval / 2, work: k.hint},
		{name: "waiting messages", interval: tickInterval / 2, work: k.release},
		{name: "temporary queues", interval: reapInterval, work: k.reap},
		{name: "calls that wait", interval: othersInterval, work: func(ctx context.Context, _ *slice) error {
			return k.config.Watcher.ObserveOthers(ctx, k.conn)
		}},
		{name: "places for errors of selectors", interval: slotsInterval, work: func(ctx context.Context, _ *slice) error {
			return selectors.AssignSlots(ctx, k.conn)
		}},
		{name: "traffic", interval: trafficInterval, work: func(ctx context.Context, _ *slice) error { return noteTraffic(ctx, k.conn) }},
		{name: "old changes", interval: forgetInterval, work: func(ctx context.Context, s *slice) error { return forgetChanges(ctx, k.conn, s) }},
		{name: "unused selectors", interval: collectInterval, work: func(ctx context.Context, _ *slice) error {
			return selectors.CollectUnused(ctx, k.conn)
		}},
	}
	for _, part := range k.sweeper.parts() {
		k.duties = append(k.duties, &duty{name: part.name, interval: k.config.Interval, work: func(ctx context.Context, s *slice) error {
			swept, err := part.sweep(ctx, k.conn, s)
			if swept > 0 {
				k.config.Log.Debug(part.name+" swept", zap.Int64("rows", swept))
			}
			return err
		}})
	}
}

// round does what is due. Schedules, for which the clock does not wait, have turns in between where
// the others have taken long.
func (k *Keeper) round(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	select {
	case <-k.wake:
		k.usedAt = time.Now()
	default:
	}
	errs := k.turn(ctx, k.looking)
	ticked := time.Time{}
	for _, d := range k.duties {
		if time.Since(ticked) > tickInterval/2 {
			errs = errors.Join(errs, k.turn(ctx, k.ticking))
			ticked = time.Now()
		}
		errs = errors.Join(errs, k.turn(ctx, d))
	}
	return errs
}

// all are the services.
func (k *Keeper) all(yield func(*duty) bool) {
	for _, d := range append([]*duty{k.looking, k.ticking}, k.duties...) {
		if !yield(d) {
			return
		}
	}
}

// fails reports whether a service's last turn has failed.
func (k *Keeper) fails() bool {
	for d := range k.all {
		if d.failing > 0 {
			return true
		}
	}
	return false
}

// behind reports whether a service has left work.
func (k *Keeper) behind() bool {
	for d := range k.all {
		if d.backlog {
			return true
		}
	}
	return false
}

// hint lets the hinter work. It rests for what it has searched in vain: where it has raised a hint
// the next search is short, however long this one was, and for looking below the hints it rests by
// itself.
func (k *Keeper) hint(ctx context.Context, s *slice) error {
	err := k.hinter.Tick(ctx, k.conn)
	s.rest = max(tickInterval/2, dutyFactor*k.hinter.vain)
	return err
}

// tick posts what is due. It does not rest for its work, which clients have asked for, and goes on
// in the next round where it left some.
func (k *Keeper) tick(ctx context.Context, s *slice) error {
	s.rest = time.Nanosecond
	posted, err := k.scheduler.Tick(ctx, k.conn)
	if posted > 0 {
		k.config.Watcher.Note(waiting.AnyQueue, true)
		k.config.Log.Debug("schedules posted", zap.Int("messages", posted))
	}
	if k.scheduler.again != nil {
		k.tell(k.ticking, "the post of a schedule is tried again", k.scheduler.again)
		k.scheduler.again = nil
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

func (k *Keeper) release(ctx context.Context, s *slice) error {
	released, err := k.releaser.Release(ctx, k.conn, s)
	if released.Woken > 0 {
		k.config.Watcher.Note(waiting.AnyQueue, true)
	}
	if err != nil {
		return err
	}
	if now := time.Now(); released.Failed != nil && now.Sub(k.passedTold) >= heldInterval {
		k.passedTold = now
		k.config.Log.Warn("what waits for others is passed over", zap.Int("rows", released.Passed), zap.Error(released.Failed))
	}
	k.waiting = released.Waiting
	if k.waiting {
		k.config.Features.NoteOrdered()
	}
	return nil
}

func (k *Keeper) reap(ctx context.Context, s *slice) (err error) {
	k.temporary, err = k.reaper.Reap(ctx, k.conn, s)
	return err
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
