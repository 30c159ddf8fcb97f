package housekeeping

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/engine/calls"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schedule"
)

const (
	ticksAtOnce = 500                    // schedules that are dealt with in one turn
	stayFor     = 2 * time.Second        // a tick that is nearer is worth keeping the connection
	tickPast    = 500 * time.Microsecond // how much later than it is due a tick is looked for, against rounding
)

// scheduler posts what schedules (mbus4.schedule) have due. Any number of schedulers may work at once: a tick belongs to who has the row's lock, and
// posting it and moving next_at on are one transaction; a row that somebody has locked is skipped, and a row that somebody has moved on is no longer
// due. So a tick is posted once, whichever proxy does it and whatever becomes of it meanwhile.
//
// Of ticks that have passed, because no proxy was there or the schedule's row was locked, the latest is posted; the others are counted as missed,
// and so are those whose post fails. A tick is never tried twice, but for what passes by itself: locks, and the end of the session.
//
// The time is the server's. A clock set back makes schedules wait until it is again where it was.
type scheduler struct {
	post string    // the statement that posts a tick
	due  time.Time // by the proxy's clock, when the next tick is looked for; zero: there are no schedules
	held time.Time // until then nothing is looked for: what is due somebody has locked
}

func newScheduler(hstoreSchema string) *scheduler {
	// Messages that wait for others are woken by their deliverers; for a post it makes no difference whether there are any.
	return &scheduler{post: calls.New().ScheduledPost(calls.Site{HstoreSchema: hstoreSchema})}
}

// dueSQL is an expression: in how many seconds a schedule is due next, null where there are none. An infinite time is too large a number.
const dueSQL = `(select case when s.next_at is null then 0
             else least(extract(epoch from s.next_at) - extract(epoch from pg_catalog.clock_timestamp()), 1e6) end::float8
 from mbus4.schedule s order by s.next_at nulls first limit 1)`

// note takes what dueSQL gave.
func (s *scheduler) note(seconds *float64) {
	s.due = time.Time{}
	if seconds == nil {
		return
	}
	s.due = time.Now()
	if *seconds > 0 {
		s.due = s.due.Add(time.Duration(*seconds*float64(time.Second)) + tickPast)
	}
	if s.due.Before(s.held) {
		s.due = s.held
	}
}

// wait bounds how long the services may pause, given how long they want to.
func (s *scheduler) wait(pause time.Duration) time.Duration {
	if s.due.IsZero() {
		return pause
	}
	return max(time.Millisecond, min(pause, time.Until(s.due)))
}

// soon reports whether a tick is so near that the connection stays open for it.
func (s *scheduler) soon() bool { return !s.due.IsZero() && time.Until(s.due) < stayFor }

// Tick posts what is due now and gives the number of posts. There may be more than it deals with at once.
func (s *scheduler) Tick(ctx context.Context, conn *pgx.Conn) (posted int, err error) {
	if s.due.IsZero() || time.Now().Before(s.due) {
		return 0, nil
	}
	for n := range ticksAtOnce {
		var found bool
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) (err error) {
			var one bool
			found, one, err = s.tickOne(ctx, tx)
			if one {
				posted++
			}
			return err
		})
		if err != nil || !found {
			if n == 0 {
				s.held = time.Now().Add(tickInterval)
			}
			return posted, err
		}
	}
	return posted, nil
}

// claimed is a schedule whose row this transaction has locked.
type claimed struct {
	name, cron, zone, owner string
	changed, now            time.Time
	next                    *time.Time
	may                     bool // its owner may post
}

// The schedule that is due longest, locked. It is read again once it is locked, so one that was moved on meanwhile is left out.
const claimSQL = `
select s.name, s.cron, s.timezone, s.owner::text, s.changed, pg_catalog.clock_timestamp(), s.next_at,
       exists (select from pg_catalog.pg_roles r where r.rolname = s.owner and pg_catalog.has_schema_privilege(r.oid, 'mbus4', 'usage')
                                                     and pg_catalog.has_table_privilege(r.oid, 'mbus4.message', 'insert'))
from mbus4.schedule s
where s.next_at is null or s.next_at <= pg_catalog.clock_timestamp()
order by s.next_at nulls first
limit 1
for update of s skip locked`

const moveOnSQL = `
update mbus4.schedule
set next_at = coalesce($2::timestamptz, 'infinity'), last_at = coalesce($3, last_at), missed = missed + $4, last_error = $5
where name = $1`

// tickOne deals with one schedule that is due: found says that there was one, posted that its tick was.
func (s *scheduler) tickOne(ctx context.Context, tx pgx.Tx) (found, posted bool, err error) {
	var c claimed
	err = tx.QueryRow(ctx, claimSQL).Scan(&c.name, &c.cron, &c.zone, &c.owner, &c.changed, &c.now, &c.next, &c.may)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("looking for schedules that are due: %w", err)
	}
	var (
		next, last *time.Time
		missed     int64
		failed     *string
	)
	plan, err := schedule.Parse(c.cron, c.zone)
	switch {
	case err != nil: // written past the functions, or by a newer program
		failed = text(err.Error())
	case c.next == nil:
		next = after(plan, c.changed)
	default:
		latest, before := plan.Latest(*c.next, c.now)
		next, missed = after(plan, latest), before
		if failed, err = s.postTick(ctx, tx, c, latest); err != nil {
			return true, false, err
		}
		if failed != nil {
			missed++
		} else {
			last, posted = &latest, true
		}
	}
	if _, err := tx.Exec(ctx, moveOnSQL, c.name, next, last, missed, failed); err != nil {
		return true, false, fmt.Errorf("moving schedule %q on: %w", c.name, err)
	}
	return true, posted, nil
}

func after(plan schedule.Schedule, t time.Time) *time.Time {
	next, ok := plan.After(t)
	if !ok {
		return nil
	}
	return &next
}

// postTick posts a tick. What is wrong with the schedule is failed; err is what may be otherwise the next time.
func (s *scheduler) postTick(ctx context.Context, tx pgx.Tx, c claimed, tick time.Time) (failed *string, err error) {
	if !c.may {
		return text(fmt.Sprintf("role %q may not post", c.owner)), nil
	}
	err = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { // a savepoint
		var iid string
		return tx.QueryRow(ctx, s.post, c.name, tick.Format("2006-01-02T15:04:05Z")).Scan(&iid)
	})
	var report *pgconn.PgError
	if !errors.As(err, &report) {
		return nil, err
	}
	if report.Code == refusal.LockNotAvailable || slices.Contains([]string{"40", "53", "57", "58"}, report.Code[:2]) { // rollback, resources, operator, system
		return nil, err
	}
	if code, said, ok := calls.OwnError(report.Message); ok {
		return text(code + ": " + said), nil
	}
	return text(report.Code + ": " + report.Message), nil
}

// text is a message as it is kept: not longer than a line or two.
func text(message string) *string {
	const longest = 500
	if len(message) > longest {
		message = strings.ToValidUTF8(message[:longest], "") + "…"
	}
	return &message
}
