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

	"mbusproxy/engine/admin"
	"mbusproxy/engine/calls"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schedule"
)

const (
	ticksAtOnce = 500                    // schedules that are dealt with in one turn
	stayFor     = 2 * time.Second        // a tick that is nearer is worth keeping the connection
	tickPast    = 500 * time.Microsecond // how much later than it is due a tick is looked for, against rounding
	postLimit   = 5 * time.Second        // that one post may take
	mostFailing = 5                      // how often in a row one post may fail because of the server
)

// scheduler posts what schedules (mbus4.schedule) have due. Any number of schedulers may work at
// once: a tick belongs to who has the row's lock, and posting it and moving next_at on are one
// transaction; a row that somebody has locked is skipped, and a row that somebody has moved on is
// no longer due. So a tick is posted once, whichever proxy does it and whatever becomes of it
// meanwhile.
//
// Of ticks that have passed, because no proxy was there or the schedule's row was locked, the
// latest is posted; the others are counted as missed, and so are those whose post fails. A tick is
// never tried twice, but for what passes by itself: locks, and the end of the session. What a
// client has made so large that it takes long, or takes the server's memory, does not pass: the
// schedules behind it would wait for ever.
//
// Owners take turns, for a role may have thousands of schedules that are due each second. One whose
// post has taken long, or is to be tried again, rests, and only its own schedules wait for that.
//
// The time is the server's. A clock set back makes schedules wait until it is again where it was.
type scheduler struct {
	post string    // the statement that posts a tick
	due  time.Time // by the proxy's clock, when the next tick is looked for; zero: there are no schedules
	held time.Time // until then nothing is looked for: what is due somebody has locked

	owners scheduleOwners

	limit time.Duration // of one post
	slice time.Duration // of one turn; 0: none
	again error         // why a post is to be tried again, until somebody has told so
}

func newScheduler() *scheduler {
	// Messages that wait for others are woken by their deliverers; for a post it makes no
	// difference whether there are any.
	return &scheduler{post: calls.New().ScheduledPost(calls.Site{}), owners: newScheduleOwners(), limit: postLimit}
}

// dueSQL is an expression: in how many seconds a schedule is due next, null where there are none.
// An infinite time is too large a number.
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
	began := time.Now()
	for n := range ticksAtOnce {
		if n > 0 && s.slice > 0 && time.Since(began) >= s.slice {
			return posted, nil
		}
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
				s.due = s.held // the next look at what is due may be far
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

// The schedule of the next owner behind $1 that is due longest, locked; those of the owners $2 are left out. It is read
// again once it is locked, so one that was moved on meanwhile is left out, too. Clients may write the
// table themselves: of texts that no schedule has only so much is read that they are refused. Owners are
// read and told as bytes: names of roles are the cluster's, and in the encoding of whichever database.
const claimSQL = `
with recursive owner (name) as (
	(select s.owner from mbus4.schedule s order by s.owner limit 1)
	union all
	select (select s.owner from mbus4.schedule s where s.owner > o.name order by s.owner limit 1)
	from owner o
	where o.name is not null
), turn as materialized (
	select o.name from owner o where o.name is not null and pg_catalog.textsend(o.name::text) <> all ($2::bytea[]) order by pg_catalog.textsend(o.name::text) <= $1::bytea, o.name
)
select s.name, pg_catalog.left(s.cron, 300), pg_catalog.left(s.timezone, 100), pg_catalog.textsend(s.owner::text),
       case when s.planned is null then s.changed else pg_catalog.clock_timestamp() end, pg_catalog.clock_timestamp(), s.next_at,
       exists (select from pg_catalog.pg_roles r where r.rolname = s.owner and pg_catalog.has_schema_privilege(r.oid, 'mbus4', 'usage')
                                                     and pg_catalog.has_table_privilege(r.oid, 'mbus4.message', 'insert'))
from turn o
cross join lateral (
	select s.name, s.cron, s.timezone, s.owner, s.changed, s.planned, s.next_at
	from mbus4.schedule s
	where s.owner = o.name and coalesce(s.next_at, '-infinity') <= (select pg_catalog.clock_timestamp())
	order by coalesce(s.next_at, '-infinity')
	limit 1
	for update of s skip locked
) s
limit 1`

const moveOnSQL = `
update mbus4.schedule
set tick = coalesce($2::timestamptz, 'infinity'), last_at = coalesce($3, last_at), missed = missed + $4, last_error = $5
where name = $1`

// planSQL notes the first tick of a plan that is new.
const planSQL = `
update mbus4.schedule
set tick = coalesce($2::timestamptz, 'infinity'), planned = hashtextextended(left(cron, 300) || ' ' || left(timezone, 100), 0), changed = $3, missed = 0, last_error = $4
where name = $1`

// tickOne deals with one schedule that is due: found says that there was one, posted that its tick was.
func (s *scheduler) tickOne(ctx context.Context, tx pgx.Tx) (found, posted bool, err error) {
	var c claimed
	var owner []byte
	err = tx.QueryRow(ctx, claimSQL, []byte(s.owners.last), s.owners.resting()).Scan(&c.name, &c.cron, &c.zone, &owner, &c.changed, &c.now, &c.next, &c.may)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("looking for schedules that are due: %w", err)
	}
	c.owner = string(owner)
	s.owners.last = c.owner
	var (
		next, last *time.Time
		missed     int64
		failed     *string
	)
	plan, err := schedule.Parse(c.cron, c.zone)
	if err != nil { // written past the functions, or by a newer program
		failed = text(err.Error())
	}
	switch {
	case c.next == nil:
		if err == nil {
			next = after(plan, c.changed)
		}
		if _, err := tx.Exec(ctx, planSQL, c.name, next, c.changed, admin.Storable(tx.Conn(), failed)); err != nil {
			return true, false, fmt.Errorf("planning schedule %q: %w", c.name, err)
		}
		return true, false, nil
	case err != nil:
	default:
		latest, before := plan.Latest(*c.next, c.now)
		next, missed = after(plan, latest), before
		began := time.Now()
		failed, err = s.postTick(ctx, tx, c, latest)
		s.owners.posted(c.owner, time.Since(began), err != nil)
		if err != nil && (ctx.Err() != nil || tx.Conn().IsClosed()) {
			return true, false, err
		}
		if err != nil {
			s.again = err
			return true, false, nil
		}
		if failed != nil {
			missed++
		} else {
			last, posted = &latest, true
		}
	}
	if _, err := tx.Exec(ctx, moveOnSQL, c.name, next, last, missed, admin.Storable(tx.Conn(), failed)); err != nil {
		return true, false, fmt.Errorf("moving schedule %q on: %w", c.name, err)
	}
	if owner := s.owners.rest[c.owner]; owner != nil && owner.failing.name == c.name {
		owner.failing = failingTick{}
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
	if owner := s.owners.rest[c.owner]; owner != nil && owner.failing.name == c.name && owner.failing.times >= mostFailing {
		return text(owner.failing.said), nil
	}
	began := time.Now()
	if _, err := tx.Exec(ctx, fmt.Sprintf("set local statement_timeout = %d", s.limit.Milliseconds())); err != nil {
		return nil, fmt.Errorf("posting schedule %q: %w", c.name, err)
	}
	err = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { // a savepoint
		var iid string
		return tx.QueryRow(ctx, s.post, c.name, tick.Format("2006-01-02T15:04:05Z")).Scan(&iid)
	})
	var report *pgconn.PgError
	if !errors.As(err, &report) {
		if err != nil && ctx.Err() == nil && tx.Conn().IsClosed() {
			s.owners.of(c.owner).failing.add(c.name, "the server ended the session: "+err.Error())
		}
		return nil, err
	}
	said := report.Code + ": " + report.Message
	tooLong := report.Code == refusal.QueryCanceled && time.Since(began) >= s.limit
	switch {
	case tooLong:
	case report.Code == refusal.QueryCanceled, report.Code == refusal.LockNotAvailable, strings.HasPrefix(report.Code, "40"): // rollback
		return nil, err
	case slices.Contains([]string{"53", "57", "58"}, report.Code[:2]): // resources, operator, system
		failing := &s.owners.of(c.owner).failing
		if failing.add(c.name, said); failing.times < mostFailing || tx.Conn().IsClosed() {
			return nil, err
		}
	}
	if code, own, ok := calls.OwnError(report.Message); ok {
		said = code + ": " + own
	}
	return text(said), nil
}

// text is a message as it is kept: not longer than a line or two.
func text(message string) *string {
	const longest = 500
	if len(message) > longest {
		message = strings.ToValidUTF8(message[:longest], "") + "…"
	}
	return &message
}
